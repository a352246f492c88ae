"""Findings: one thing wrong with one object, with its evidence, now. No knowledge of who shows them."""

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
    WARNING = "warning"  # it will bite, or leaks something
    CRITICAL = "critical"  # traffic, data or the control plane is at risk

    @property
    def rank(self) -> int:
        return ("info", "warning", "critical").index(self.value)


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a check yields; `check`, `fingerprint`, `runbook`, and `since` where the check knows none, are filled in.

    `next` is one sentence and `commands` are for a shell, with their names filled in: by the check, or else by what
    its reason says. `unknown` says why the finding may be old; empty while it is not.
    """

    reason: str
    severity: Severity
    subject: Ref
    message: str
    check: str = ""
    related: tuple[Ref, ...] = ()
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


class Unknown(msgspec.Struct, frozen=True, order=True):
    """A check has no answer for a partition: a namespace, or all of the cluster where it is empty.

    `cluster` is the name of the dump, where there are several.
    """

    check: str
    partition: str
    why: str
    cluster: str = ""


def fingerprint(check: str, finding: Finding) -> str:
    """16 hex digits; the same for the same check, reason, subject and group, over restarts.

    An object may belong to two groups at once: to one by what it runs with, to another by what it starts with next.
    """
    subject = finding.subject
    identity = subject.uid or f"{subject.kind}/{subject.path}"
    if finding.group:
        identity = f"{identity}\0{finding.group}"
    return blake2b(f"{check}\0{finding.reason}\0{identity}".encode(), digest_size=8).hexdigest()
