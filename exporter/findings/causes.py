"""Causes: what one act mends. 2,501 VMs that miss one instancetype are one thing to do, and one cause.

A check declares by what its findings belong together (`Check.cause`), or a reason of it does (`Reason.cause`). Findings
of one reason whose references are equal have one cause.
"""

from __future__ import annotations

from enum import Enum
from hashlib import blake2b

import msgspec

from .finding import Finding

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


_IN_EVIDENCE = {Cause.PDB: ("PodDisruptionBudget", "pdb"), Cause.IPAM_CLAIM: ("IPAMClaim", "claim")}


def _text(finding: Finding, key: str) -> str:
    value = finding.evidence.get(key)
    return value if isinstance(value, str) else ""


def cause_id(check: str, reason: str, reference: Reference) -> str:
    """16 hex digits; the same over restarts for the same check, reason and reference."""
    whole = "\0".join((check, reason, *msgspec.structs.astuple(reference)))
    return blake2b(whole.encode(), digest_size=8).hexdigest()
