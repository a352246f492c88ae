"""Which instancetype or preference a VM gets, as KubeVirt decides it (pkg/instancetype/find and preference/find).

A pin in the spec comes first, then the ControllerRevision in the status, then the live object.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from ...facts import specs
from ...facts.matching import ROLES, MatcherReference, MatcherRole, kind_of
from ...facts.record import Record
from ...store.kinds.controller_revision import START, ControllerRevision
from ...store.kinds.instancetypes import (
    Kept,
    Sizing,
    Tuning,
    VirtualMachineClusterInstancetype,
    VirtualMachineClusterPreference,
    VirtualMachineInstancetype,
    VirtualMachinePreference,
)
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.snapshots import VirtualMachineSnapshotContent
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import VirtualMachine

R = TypeVar("R", bound=Record)

LIVE: dict[str, type[Kept]] = {
    "VirtualMachineInstancetype": VirtualMachineInstancetype,
    "VirtualMachineClusterInstancetype": VirtualMachineClusterInstancetype,
    "VirtualMachinePreference": VirtualMachinePreference,
    "VirtualMachineClusterPreference": VirtualMachineClusterPreference,
}


class Find(Protocol):
    def __call__(self, kind: type[R], namespace: str, name: str, /) -> Record | None: ...


class ReferenceMode(StrEnum):
    """By what a VM refers to an object."""

    PINNED = "pinned"
    REVISION = "revision"
    UNVERSIONED = "unversioned"
    INFERRED = "inferred"


class Unresolved(StrEnum):
    """What KubeVirt can't find."""

    KIND = "kind"
    OBJECT = "object"
    REVISION = "revision"


class Resolution(msgspec.Struct, frozen=True, gc=False):
    """`live` is the object of the VM's matcher as it is now, whether the VM gets that or not; `revision` is what it
    gets instead. `kind` is empty where the matcher's is none.
    """

    role: MatcherRole
    reference: MatcherReference
    mode: ReferenceMode
    kind: str
    live: Kept | None
    revision: ControllerRevision | None
    revision_name: str
    failure: Unresolved | None = None

    @property
    def saved(self) -> bool:
        """Whether what should be a copy has the name of a spec that a VMI started with. Whether that exists is not
        known, since most have no record, and is all one to KubeVirt.
        """
        return self.failure is Unresolved.REVISION and self.revision_name.startswith(START)

    @property
    def spec(self) -> str | None:
        """The canonical text of what the VM gets; None where there is nothing, or nothing that could be read."""
        if self.failure is not None or self.mode is ReferenceMode.INFERRED:
            return None
        if self.revision is not None:
            stash = self.revision.stash
            return stash.spec if stash is not None and not stash.why else None
        return self.live.spec if self.live is not None else None


def reference(
    holder: VirtualMachine | VirtualMachinePool | VirtualMachineSnapshotContent, role: MatcherRole
) -> MatcherReference | None:
    return holder.instancetype if role is MatcherRole.INSTANCETYPE else holder.preference


def target(namespace: str, role: MatcherRole, wanted: MatcherReference) -> tuple[str, str, str]:
    """Kind, namespace and name of the object that a matcher means; the kind is empty where KubeVirt knows it not."""
    kind = kind_of(role, wanted.kind)
    return kind, namespace if kind == role.namespaced else "", wanted.name


def resolve(vm: VirtualMachine, role: MatcherRole, find: Find, kubevirt: KubeVirt | None = None) -> Resolution | None:
    """None where the VM has no matcher in this role."""
    wanted = reference(vm, role)
    if wanted is None or not wanted.wanted:
        return None
    kind, namespace, name = target(vm.namespace, role, wanted)
    live = find(LIVE[kind], namespace, name) if kind and name else None
    found = live if isinstance(live, Sizing | Tuning) else None
    if wanted.pin:
        return _kept(role, wanted, ReferenceMode.PINNED, kind, found, find, vm.namespace)
    if wanted.revision and not _dropped(wanted):
        kept = _kept(role, wanted, ReferenceMode.REVISION, kind, found, find, vm.namespace)
        if kept.revision is None or _of(kept.revision) == wanted.name or takes_any(kubevirt):
            return kept
        if kubevirt is not None and wanted.name == wanted.status_name and _stops(kept.revision, kubevirt):
            return kept
    if wanted.volume and not wanted.name:
        return Resolution(role, wanted, ReferenceMode.INFERRED, kind, None, None, "")
    failure = Unresolved.KIND if not kind else Unresolved.OBJECT if found is None else None
    return Resolution(role, wanted, ReferenceMode.UNVERSIONED, kind, found, None, "", failure)


def backs(vm: VirtualMachine, role: MatcherRole, saved: MatcherReference, find: Find) -> bool:
    """Whether a VM has a copy for a spec that is written into it, as a restore does, which leaves its status alone."""
    own = reference(vm, role)
    if own is None or not own.revision or own.status_name != saved.name or saved.kind not in ("", own.status_kind):
        return False
    found = find(ControllerRevision, vm.namespace, own.revision)
    return isinstance(found, ControllerRevision) and not found.saved and _of(found) == saved.name


def _kept(
    role: MatcherRole,
    wanted: MatcherReference,
    mode: ReferenceMode,
    kind: str,
    live: Kept | None,
    find: Find,
    namespace: str,
) -> Resolution:
    name = wanted.pin if mode is ReferenceMode.PINNED else wanted.revision
    found = find(ControllerRevision, namespace, name)
    revision = found if isinstance(found, ControllerRevision) and not found.saved else None
    return Resolution(role, wanted, mode, kind, live, revision, name, Unresolved.REVISION if revision is None else None)


def _dropped(wanted: MatcherReference) -> bool:
    """Whether KubeVirt forgets the revision when it next reconciles the VM, since its matcher has another kind (as it
    is written) than the status (pkg/instancetype/revision/store.go).
    """
    return bool(wanted.kind) and wanted.kind != wanted.status_kind


def _of(revision: ControllerRevision) -> str:
    """The object that its label names; empty without the label."""
    return revision.stash.object_name if revision.stash is not None else ""


def takes_any(kubevirt: KubeVirt | None) -> bool:
    """Whether KubeVirt takes the revision of the status whatever it is of (before kubevirt/kubevirt#14682)."""
    return kubevirt is not None and kubevirt.patch in ((1, 5, 0), (1, 5, 1))


def ends_at_start(kubevirt: KubeVirt | None) -> bool:
    """Whether virt-controller ends when it starts a VM whose status names a ControllerRevision in a role in which its
    spec has no matcher any more (kubevirt/kubevirt#16071, patchVMRevision in pkg/virt-controller/watch/vm/vm.go).
    """
    patch = kubevirt.patch if kubevirt is not None else (0, 0, 0)
    return any(since <= patch < fixed for since, fixed in _ENDS_AT_START)


def _stops(revision: ControllerRevision, kubevirt: KubeVirt) -> bool:
    """Whether KubeVirt, which would not take it, fails at it: since 1.5 it converts what the status names and has no
    label of the newest version, before it looks what that is of (pkg/instancetype/upgrade).
    """
    stash = revision.stash
    converts = kubevirt.release >= _CONVERTS_STATUS_SINCE and kubevirt.reference_policy == "reference"
    if not converts or (stash is not None and stash.object_version == _NEWEST):
        return False
    return all(undecodable(revision, role, kubevirt.release) for role in ROLES)


_CONVERTS_STATUS_SINCE = (1, 5)
_ENDS_AT_START = (((1, 5, 0), (1, 5, 4)), ((1, 6, 0), (1, 6, 4)), ((1, 7, 0), (1, 7, 1)))
_NEWEST = "v1beta1"
_OLD = ("v1alpha1", "v1alpha2")
_KNOWN = ("v1", "v1beta1")
_OLD_UNTIL = (1, 7)


def undecodable(revision: ControllerRevision, role: MatcherRole, release: tuple[int, int]) -> str:
    """Why this release of KubeVirt, (0, 0) for an unknown one, can't decode the object in a revision; empty if it
    can.
    """
    stash = revision.stash
    if stash is None:
        return f"it holds no {role.value}"
    if stash.why:
        return stash.why
    if stash.kind not in (role.namespaced, role.cluster_wide):
        return f"it holds a {stash.kind or 'thing without a kind'}"
    if stash.version in _KNOWN or (stash.version in _OLD and release < _OLD_UNTIL):
        return ""
    if stash.version in _OLD:
        return f"KubeVirt {release[0]}.{release[1]} no longer decodes {stash.version}"
    return f"KubeVirt doesn't recognize version {stash.version}"


# What a VM's instancetype and preference add to its spec, for whoever asks what the VM requests.
#
# An instancetype gives, and where the template sets the same it conflicts; a preference fills in what was left open.
# What the two can request is in specs.py; what no request can come from is not read.


class Contributions(msgspec.Struct, frozen=True):
    """`instancetype` and `preference` are None where the VM has none; those in `unresolved` it has, and KubeVirt can't
    tell what they say either.
    """

    instancetype: specs.Instancetype | None
    preference: specs.Preference | None
    unresolved: tuple[MatcherRole, ...]
    texts: tuple[str | None, str | None] = (None, None)  # of both, as they are kept


def contributions(vm: VirtualMachine, find: Find, kubevirt: KubeVirt | None = None) -> Contributions:
    """As KubeVirt would start the VM now."""
    release = kubevirt.release if kubevirt is not None else (0, 0)
    texts = {role: _text(resolve(vm, role, find, kubevirt), release) for role in ROLES}
    sized, tuned = texts[MatcherRole.INSTANCETYPE], texts[MatcherRole.PREFERENCE]
    return Contributions(
        specs.instancetype(sized) if sized is not None else None,
        specs.preference(tuned) if tuned is not None else None,
        tuple(role for role, text in texts.items() if text is None and _wanted(vm, role)),
        (sized, tuned),
    )


def _wanted(vm: VirtualMachine, role: MatcherRole) -> bool:
    wanted = vm.instancetype if role is MatcherRole.INSTANCETYPE else vm.preference
    return wanted is not None and wanted.wanted


def _text(resolution: Resolution | None, release: tuple[int, int]) -> str | None:
    if resolution is None:
        return None
    revision = resolution.revision
    if revision is not None and undecodable(revision, resolution.role, release):
        return None
    return resolution.spec
