"""How a VM refers to an instancetype or a preference, by its spec and by its status.

As pkg/instancetype/find/{spec,revision}.go of kubevirt/kubevirt reads it.
"""

from __future__ import annotations

from enum import StrEnum
from sys import intern

import msgspec

from .naming import shortened
from .record import Wire


class MatcherRole(StrEnum):
    INSTANCETYPE = "instancetype"
    PREFERENCE = "preference"

    @property
    def namespaced(self) -> str:
        """The kind of those in a namespace."""
        return _NAMESPACED[self]

    @property
    def cluster_wide(self) -> str:
        return _CLUSTER_WIDE[self]


ROLES = tuple(MatcherRole)
_NAMESPACED = {
    MatcherRole.INSTANCETYPE: "VirtualMachineInstancetype",
    MatcherRole.PREFERENCE: "VirtualMachinePreference",
}
_CLUSTER_WIDE = {
    MatcherRole.INSTANCETYPE: "VirtualMachineClusterInstancetype",
    MatcherRole.PREFERENCE: "VirtualMachineClusterPreference",
}
_SPELLINGS = {
    role: {"": role.cluster_wide}
    | {text: kind for kind in (role.namespaced, role.cluster_wide) for text in (kind.lower(), f"{kind.lower()}s")}
    for role in MatcherRole
}


def kind_of(role: MatcherRole, written: str) -> str:
    """The kind that a matcher means: in any case, singular or plural, without one the cluster-wide kind; empty text
    for what KubeVirt knows as none.
    """
    return _SPELLINGS[role].get(written.lower(), "")


class WireMatcher(Wire, frozen=True, gc=False):
    name: str | None = None
    kind: str | None = None
    revision_name: str | None = None
    infer_from_volume: str | None = None


class _RevisionRef(Wire, frozen=True, gc=False):
    name: str | None = None


class WireStatusRef(Wire, frozen=True, gc=False):
    name: str | None = None
    kind: str | None = None
    controller_revision_ref: _RevisionRef | None = None


class MatcherReference(msgspec.Struct, frozen=True, gc=False):
    """`wanted` says that the spec has a matcher; without it there is only what the status kept. Names are empty where
    there are none.
    """

    wanted: bool
    name: str
    kind: str  # as it is written
    pin: str  # the ControllerRevision that the spec names
    volume: str  # from which name and kind are still to be inferred
    status_name: str
    status_kind: str
    revision: str  # the ControllerRevision that the status names


def reference_of(matcher: WireMatcher | None, status: WireStatusRef | None) -> MatcherReference | None:
    """None where the VM has neither."""
    kept = (status.controller_revision_ref.name or "") if status and status.controller_revision_ref else ""
    if matcher is None and not kept:
        return None
    wire, ref = matcher or WireMatcher(), status or WireStatusRef()
    return MatcherReference(
        wanted=matcher is not None,
        name=_name(wire.name),
        kind=_name(wire.kind),
        pin=_name(wire.revision_name),
        volume=_name(wire.infer_from_volume),
        status_name=_name(ref.name),
        status_kind=_name(ref.kind),
        revision=_name(kept),
    )


def pins_of(*matchers: WireMatcher | None) -> tuple[str, ...]:
    """The ControllerRevisions that the matchers of a saved spec name."""
    return tuple(_name(each.revision_name) for each in matchers if each and each.revision_name)


def _name(text: str | None) -> str:
    return intern(shortened(text or ""))
