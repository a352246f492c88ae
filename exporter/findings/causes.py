"""Causes: what one act mends. 2,501 VMs that miss one instancetype are one thing to do, and one cause.

A check declares by what its findings belong together (`Check.cause`), or a reason of it does (`Reason.cause`). Findings
of one reason whose references are equal have one cause.
"""

from __future__ import annotations

from enum import Enum
from hashlib import blake2b

import msgspec

from .finding import Finding

__all__ = ["Cause", "Reference", "cause_id"]

_NAMESPACED = ("VirtualMachineInstancetype", "VirtualMachinePreference")


class Reference(msgspec.Struct, frozen=True, gc=False):
    """What is to be mended: an object by `kind`, `namespace` and `name`, or a node, a network, a feature or gate, or
    the objects that share one value (`group`). With a namespace alone, or nothing, it is each of the objects there.
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
    NODE = "the node"
    NETWORK = "the network"
    FEATURE = "the feature"
    GROUP = "the objects that share a UUID, a serial or an address"
    CLUSTER = "the cluster"

    def reference(self, finding: Finding) -> Reference:
        """A finding that lacks what its cause is by is mended with the others of its namespace."""
        subject = finding.subject
        if self is Cause.CLUSTER:
            return Reference()
        if self is Cause.SUBJECT:
            return Reference(subject.kind, subject.namespace, subject.name)
        if self is Cause.REFERENT:
            kind, name = finding.evidence.get("objectKind"), finding.evidence.get("object")
            if isinstance(kind, str) and isinstance(name, str) and kind and name:
                return Reference(kind, subject.namespace if kind in _NAMESPACED else "", name)
        elif self is not Cause.NAMESPACE and (value := getattr(finding, self.name.lower())):
            return Reference(**{self.name.lower(): value})
        return Reference(namespace=subject.namespace)


def cause_id(check: str, reason: str, reference: Reference) -> str:
    """16 hex digits; the same over restarts for the same check, reason and reference."""
    whole = "\0".join((check, reason, *msgspec.structs.astuple(reference)))
    return blake2b(whole.encode(), digest_size=8).hexdigest()
