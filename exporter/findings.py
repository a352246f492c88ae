"""Findings: one thing wrong with one object now, with its evidence. Independent of how they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec

from .model.record import Ref
from .model.since import Since

__all__ = ["Finding", "Severity", "Since", "Unknown", "fingerprint"]


class Severity(StrEnum):
    INFO = "info"  # hygiene
    WARNING = "warning"  # it will fail, or leaks something
    CRITICAL = "critical"  # traffic, data or the control plane is at risk

    @property
    def rank(self) -> int:
        return ("info", "warning", "critical").index(self.value)


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a check yields; `check`, `fingerprint`, `runbook`, and `since` where the check knows none, are filled in.

    `next` is one sentence and `commands` are for a shell, with their names filled in: by the check, or else by what
    its reason says. `unknown` says why the finding may be old; empty while it is not. `vm` is the name of the one VM
    that it is about: of a subject that is a VM or VMI it is filled in, of any other the check gives it.
    `cluster` is the name of the subject's cluster, where several are compared.
    """

    reason: str
    severity: Severity
    subject: Ref
    message: str
    check: str = ""
    related: tuple[Ref, ...] = ()
    vm: str = ""
    node: str = ""
    feature: str = ""
    network: str = ""
    since: float | None = None  # seconds since 1970
    since_source: Since = Since.FIRST_SEEN
    evidence: Mapping[str, Any] = {}
    group: str = ""
    fingerprint: str = ""
    next: str = ""
    commands: tuple[str, ...] = ()
    runbook: str = ""
    unknown: str = ""
    remediation: str | None = None
    cluster: str = ""

    def __post_init__(self) -> None:
        if not self.vm and self.subject.kind in _VMS:
            msgspec.structs.force_setattr(self, "vm", self.subject.name)


_VMS = ("VirtualMachine", "VirtualMachineInstance")


class Unknown(msgspec.Struct, frozen=True, order=True):
    """A check has no answer for a partition: a namespace, or the whole cluster if it is empty.

    `cluster` is the name of the dump, if there are several.
    """

    check: str
    partition: str
    why: str
    cluster: str = ""


def fingerprint(check: str, finding: Finding) -> str:
    """16 hex digits; the same over restarts for the same check, reason, subject and group.

    An object may belong to two groups at once: to one by its present value, to another by that of its next start.
    """
    subject = finding.subject
    identity = subject.uid or f"{subject.kind}/{subject.path}"
    if finding.group:
        identity = f"{identity}\0{finding.group}"
    return blake2b(f"{check}\0{finding.reason}\0{identity}".encode(), digest_size=8).hexdigest()
