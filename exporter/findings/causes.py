"""Causes: what one act mends. 2,501 VMs that miss one instancetype are one thing to do, and one cause.

A check declares by what its findings belong together (`Check.cause`), or a reason of it does (`Reason.cause`). Findings
of one reason whose references are equal have one cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from hashlib import blake2b

import msgspec

from .finding import Finding
from .severity import Severity

_NAMESPACED = ("VirtualMachineInstancetype", "VirtualMachinePreference")


class Reference(msgspec.Struct, frozen=True, gc=False):
    """What is to be mended: an object by `kind`, `namespace` and `name`, or a node, a network (in one `namespace` or in
    all), a feature or gate (or what nodes lack for it, by `name`), or the objects that share one value (`group`). With
    a namespace alone, or nothing, it is each of the objects there.
    """

    kind: str = ""
    namespace: str = ""
    name: str = ""
    node: str = ""
    network: str = ""
    feature: str = ""
    group: str = ""


class Cause(Enum):
    """By what findings of one reason have one cause."""

    NAMESPACE = "each object by itself, listed by namespace"
    SUBJECT = "the subject"
    REFERENT = "the object that the subject refers to: `object` and `objectKind` of the evidence"
    PDB = "the PDB: `pdb` of the evidence"
    IPAM_CLAIM = "the IPAMClaim: `claim` of the evidence"
    REVISION = "the ControllerRevision: `revision` of the evidence"
    NODE = "the node"
    NETWORK = "the network"
    NETWORK_THERE = "the network in the namespace"
    FEATURE = "the feature"
    NEEDS = "what no node offers for the feature: `needs` of the evidence"
    GROUP = "the objects that share a UUID, a serial or an address"
    CLUSTER = "the cluster"

    def reference(self, finding: Finding) -> Reference:
        """A finding that lacks what its cause is by is mended with the others of its namespace."""
        return self._found(finding) or Reference(namespace=finding.subject.namespace)

    def _found(self, finding: Finding) -> Reference | None:
        subject = finding.subject
        if self is Cause.CLUSTER:
            return Reference()
        if self is Cause.SUBJECT:
            return Reference(subject.kind, subject.namespace, subject.name)
        if self is Cause.REFERENT:
            kind, name = _text(finding, "objectKind"), _text(finding, "object")
            return Reference(kind, subject.namespace if kind in _NAMESPACED else "", name) if kind and name else None
        if self in _IN_EVIDENCE:
            kind, key = _IN_EVIDENCE[self]
            name = _text(finding, key)
            return Reference(kind, subject.namespace, name) if name else None
        if self is Cause.NEEDS:
            needs = finding.evidence.get("needs")
            return Reference(feature=finding.feature, name=", ".join(map(str, needs))) if needs else None
        if self is Cause.NETWORK_THERE:
            return Reference(namespace=subject.namespace, network=finding.network) if finding.network else None
        value = "" if self is Cause.NAMESPACE else getattr(finding, self.name.lower())
        return Reference(**{self.name.lower(): value}) if value else None


_IN_EVIDENCE = {
    Cause.PDB: ("PodDisruptionBudget", "pdb"),
    Cause.IPAM_CLAIM: ("IPAMClaim", "claim"),
    Cause.REVISION: ("ControllerRevision", "revision"),
}


def _text(finding: Finding, key: str) -> str:
    value = finding.evidence.get(key)
    return value if isinstance(value, str) else ""


def cause_id(check: str, reason: str, reference: Reference) -> str:
    """16 hex digits; the same over restarts for the same check, reason and reference."""
    whole = "\0".join((check, reason, *msgspec.structs.astuple(reference)))
    return blake2b(whole.encode(), digest_size=8).hexdigest()


# Causes that somebody knows of: until when, why, and how bad they may be meanwhile.
#
# An acknowledged cause is shown as such and stays open. It counts as any other again at its time, and at once when it
# is worse than what was acknowledged.

DAY_OR_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?"


class Acknowledgement(msgspec.Struct, frozen=True):
    """`until` is in seconds since 1970, `severity` the worst that is acknowledged."""

    cause: str
    until: float
    because: str
    by: str = ""
    severity: Severity = Severity.WARNING

    def covers(self, severity: Severity) -> bool:
        return severity.rank <= self.severity.rank


class Acknowledgements:
    """At most one of each cause."""

    def __init__(self, every: Iterable[Acknowledgement] = ()) -> None:
        self._of = {each.cause: each for each in every}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Acknowledgements) and self._of == other._of

    __hash__ = None  # type: ignore[assignment]

    @property
    def all(self) -> tuple[Acknowledgement, ...]:
        """Those whose time is over among them."""
        return tuple(self._of.values())

    def holding(self, now: float) -> tuple[Acknowledgement, ...]:
        """Those whose time is not over; `now` is in seconds since 1970."""
        return tuple(each for each in self._of.values() if now < each.until)

    def of(self, cause: str, severity: Severity, now: float) -> Acknowledgement | None:
        """By which a cause of this severity is acknowledged."""
        found = self._of.get(cause)
        return found if found is not None and now < found.until and found.covers(severity) else None


def moment_of(text: str) -> float:
    """Of a date, its beginning in UTC, or of a time with its zone, in seconds since 1970. Raises ValueError."""
    if re.fullmatch(DAY_OR_MOMENT, text):
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    shown = text[:60] if text.isprintable() else "the text"
    raise ValueError(f'"{shown}" is no date or time; write it as 2026-12-01, or as 2026-12-01T08:00:00Z')
