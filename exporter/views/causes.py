"""What there is to do: one row a cause, however many findings it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest

import msgspec
from msgspec import UNSET, UnsetType

from ..engine.cause_store import CauseStore, OpenCause
from ..findings.causes import Reference
from ..findings.check import Check
from ..findings.finding import Finding, Severity, Unknown
from ..store.record import Ref
from .times import rfc3339

__all__ = ["CauseReport", "CausesReport", "cause_order", "causes_of", "reports"]

_FIRST = 5  # objects that are named
_PART = 1000  # findings between two pauses


class CauseReport(msgspec.Struct, frozen=True, rename="camel"):
    """A cause as users get it. `severity` is the worst of its findings, `since` (RFC 3339 in UTC) the oldest; `next`,
    `remediation` and `runbook` are those of the worst, the oldest first. `kinds` counts its objects, of which `first`
    names some. `opened` and `closed` are findings in the last hour, absent where nobody watched.
    """

    cause: str
    check: str
    reason: str
    meaning: str
    severity: str
    reference: Reference
    objects: int
    kinds: dict[str, int]
    namespaces: int
    findings: int
    first: tuple[Ref, ...]
    since: str
    since_source: str
    next: str
    remediation: str | None
    runbook: str
    opened: int | UnsetType = UNSET
    closed: int | UnsetType = UNSET
    cluster: str = ""


class CausesReport(msgspec.Struct, frozen=True, rename="camel"):
    """`ended` are those whose last finding closed within the last hour. `unknown` says where a check has no answer:
    there may be more causes there.
    """

    generation: int
    ready: bool
    causes: tuple[CauseReport, ...]
    ended: tuple[CauseReport, ...]
    unknown: tuple[Unknown, ...]


def cause_order(cause: CauseReport) -> tuple[int, int, str, str]:
    """The worst first, then those with the most objects, then the oldest."""
    return -Severity(cause.severity).rank, -cause.objects, cause.since or "~", cause.cause


def causes_of(findings: Iterable[Finding], checks: Iterable[Check], cluster: str = "") -> list[CauseReport]:
    """Counted from scratch, in their order."""
    checks = tuple(checks)
    store = CauseStore(checks, lambda: 0.0)
    store.update((), findings, counts=False)
    made = (each for each in reports(store, checks, None) if each is not None)
    return sorted((msgspec.structs.replace(each, cluster=cluster) for each in made), key=cause_order)


def reports(causes: Iterable[OpenCause], checks: Iterable[Check], now: float | None) -> Iterator[CauseReport | None]:
    """Some causes, as they come, with None wherever there may be a pause. `now` is in seconds since 1970; None where
    nobody watched what opens and closes.
    """
    by_id = {check.id: check for check in checks}
    for cause in tuple(causes):
        found: list[tuple[int, float, str, str, Finding]] = []
        names: list[tuple[str, str, str, Ref]] = []
        members = tuple(cause.members.values())
        for start in range(0, len(members), _PART):
            part = members[start : start + _PART]
            found = nsmallest(1, (*found, *map(_worst, part)), key=lambda each: each[:4])
            named = {key[:3]: key for key in (*names, *map(_named, part))}
            names = nsmallest(_FIRST, named.values(), key=lambda each: each[:3])
            yield None
        oldest = min(members, key=_age, default=None)
        opened, closed = cause.last_hour(now) if now is not None else (UNSET, UNSET)
        worst = found[0][-1] if found else None
        yield CauseReport(
            cause.id,
            cause.check,
            cause.reason,
            by_id[cause.check].reasons[cause.reason].meaning,
            cause.severity.value,
            cause.reference,
            cause.objects,
            dict(sorted(cause.kinds.items())),
            len([each for each in cause.namespaces if each]),
            len(members),
            tuple(each[-1] for each in names),
            rfc3339(oldest.since) if oldest else "",
            oldest.since_source.value if oldest else "",
            worst.next if worst else "",
            worst.remediation if worst else None,
            worst.runbook if worst else "",
            opened,
            closed,
        )


def _age(finding: Finding) -> tuple[float, str]:
    return finding.since or float("inf"), finding.fingerprint


def _worst(finding: Finding) -> tuple[int, float, str, str, Finding]:
    return -finding.severity.rank, *_age(finding), "", finding


def _named(finding: Finding) -> tuple[str, str, str, Ref]:
    subject = finding.subject
    return subject.namespace, subject.name, subject.kind, subject
