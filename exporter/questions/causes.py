"""What there is to do: one row a cause, however many findings it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import UNSET, UnsetType

from ..engine.causes import CauseHistory, CauseStore, Count, EndedCause
from ..engine.open_cause import OpenCause
from ..facts.record import Ref
from ..findings.causes import Acknowledgement, Acknowledgements, Reference
from ..findings.check import Check
from ..findings.finding import Finding, Unknown
from ..findings.severity import Severity
from .times import rfc3339

_FIRST = 5  # objects that are named
_FIRST_NAMESPACES = 10


class AcknowledgedReport(msgspec.Struct, frozen=True, rename="camel"):
    """That somebody knows of a cause, until when (RFC 3339 in UTC), why, who, and how bad it may be meanwhile."""

    until: str
    because: str
    by: str
    severity: str


class CauseReport(msgspec.Struct, frozen=True, rename="camel"):
    """A cause as users get it. `severity` is the worst of its findings, `since` (RFC 3339 in UTC) the oldest; `next`,
    `remediation` and `runbook` are those of the worst, the oldest first. `kinds` counts its objects, of which `first`
    names some, as `first_namespaces` does of their namespaces. `vms` is how many VMs the findings are about. `opened`
    and `closed` count the findings that did so in the last hour, absent where nobody watched. `ended_at` is when the
    last finding of one that has none closed, and `last` the object of that; both are absent of others. `acknowledged`
    is absent where the cause is not, or is worse than what was; `severities` counts the findings; `only` is the
    fingerprint of the one that there is, empty of several.
    """

    cause: str
    check: str
    reason: str
    title: str
    meaning: str
    severity: str
    reference: Reference
    objects: int
    kinds: dict[str, int]
    vms: int
    namespaces: int
    first_namespaces: tuple[str, ...]
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
    ended_at: str | UnsetType = UNSET
    last: Ref | UnsetType = UNSET
    acknowledged: AcknowledgedReport | UnsetType = UNSET
    severities: dict[str, int] = {}
    only: str = ""

    @property
    def is_known(self) -> bool:
        """Whether somebody has acknowledged it, as bad as it is."""
        return self.acknowledged is not UNSET


class KnownCause(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `acknowledged`, and what it comes to: `state` is acknowledged, over (its time has passed), worse (the
    cause is worse than what was acknowledged), or closed, where no open finding has the cause.
    """

    cause: str
    state: str
    acknowledged: AcknowledgedReport


class HistoryReport(msgspec.Struct, frozen=True, rename="camel"):
    """What opened and closed of all causes in the last hour; `since` is from when on that is counted, and `each_since`
    from when on all that is counted of single causes is kept: RFC 3339 in UTC.
    """

    since: str
    each_since: str
    opened: int
    closed: int


class CausesReport(msgspec.Struct, frozen=True, rename="camel"):
    """`ended` are those whose last finding closed within the last hour, the last ones. `unknown` says where a check has
    no answer: there may be more causes there. `history` is absent where nobody watched.
    """

    generation: int
    ready: bool
    causes: tuple[CauseReport, ...]
    ended: tuple[CauseReport, ...]
    unknown: tuple[Unknown, ...]
    history: HistoryReport | UnsetType = UNSET
    acknowledged: tuple[KnownCause, ...] = ()


def history_of(history: CauseHistory, now: float) -> HistoryReport | UnsetType:
    """Unset before it has begun; `now` is in seconds since 1970."""
    if history.since is None:
        return UNSET
    whole = history.whole(now)
    return HistoryReport(rfc3339(history.since), rfc3339(history.each_since), whole.opened, whole.closed)


def cause_order(cause: CauseReport) -> tuple[bool, int, int, str, str]:
    """The worst first, then those of the most VMs, then the oldest; what is acknowledged comes last."""
    return cause.is_known, -Severity(cause.severity).rank, -cause.vms, cause.since or "~", cause.cause


Shown = Callable[[Finding], Finding]
Known = Callable[[str, Severity], Acknowledgement | None]
"""By what a cause of a severity is acknowledged."""


def _as_it_is(finding: Finding) -> Finding:
    return finding


def _unknown(_: str, __: Severity) -> None:
    return None


def causes_of(
    findings: Iterable[Finding],
    checks: Iterable[Check],
    cluster: str = "",
    shown: Shown = _as_it_is,
    known: Known = _unknown,
) -> list[CauseReport]:
    """Counted from scratch, in their order. `shown` is for the one whose advice is given."""
    checks = tuple(checks)
    store = CauseStore(checks, lambda: 0.0)
    store.update((), findings, counts=False)
    made = reports(store, checks, None, shown, known)
    return sorted((msgspec.structs.replace(each, cluster=cluster) for each in made), key=cause_order)


def reports(
    causes: Iterable[OpenCause],
    checks: Iterable[Check],
    changes: Callable[[str], Count] | None,
    shown: Shown = _as_it_is,
    known: Known = _unknown,
) -> Iterator[CauseReport]:
    """Some causes, as they come. `changes` are those of one by its id; None where nobody watched."""
    by_id = {check.id: check for check in checks}
    for cause in causes:
        worst, oldest = cause.worst, cause.oldest
        reason = by_id[cause.check].reasons[cause.reason]
        lately = changes(cause.id) if changes is not None else None
        yield CauseReport(
            cause.id,
            cause.check,
            cause.reason,
            reason.title,
            reason.meaning,
            cause.severity.value,
            cause.reference,
            cause.objects,
            dict(sorted(cause.kinds.items())),
            cause.vms,
            cause.namespaces,
            cause.first_namespaces(_FIRST_NAMESPACES),
            len(cause),
            cause.first(_FIRST),
            rfc3339(oldest.since) if oldest else "",
            oldest.since_source.value if oldest else "",
            shown(worst).next if worst else "",
            worst.remediation if worst else None,
            worst.runbook if worst else "",
            lately.opened if lately is not None else UNSET,
            lately.closed if lately is not None else UNSET,
            severities=cause.severities,
            only=worst.fingerprint if worst is not None and len(cause) == 1 else "",
            acknowledged=UNSET if (by := known(cause.id, cause.severity)) is None else acknowledged_report(by),
        )


def ended(
    causes: Iterable[EndedCause], checks: Iterable[Check], changes: Callable[[str], Count]
) -> Iterator[CauseReport]:
    for each in causes:
        for made in reports((each.cause,), checks, changes):
            yield msgspec.structs.replace(made, ended_at=rfc3339(each.at), last=each.last)


def acknowledged_report(known: Acknowledgement) -> AcknowledgedReport:
    return AcknowledgedReport(rfc3339(known.until), known.because, known.by, known.severity.value)


def acknowledged_text(known: AcknowledgedReport) -> str:
    """For people, in one line."""
    by = f" by {known.by}" if known.by else ""
    day = known.until.removesuffix("T00:00:00Z").removesuffix(":00Z").replace("T", " ")
    return f"acknowledged until {day}{by}{f': {known.because}' if known.because else ''}"


def known_causes(
    acknowledged: Acknowledgements, severity_of: Callable[[str], Severity | None], now: float
) -> tuple[KnownCause, ...]:
    """What each entry comes to. `severity_of` is that of an open cause; None where there is none."""
    return tuple(
        KnownCause(each.cause, _state(each, severity_of(each.cause), now), acknowledged_report(each))
        for each in acknowledged.all
    )


def _state(known: Acknowledgement, severity: Severity | None, now: float) -> str:
    if now >= known.until:
        return "over"
    if severity is None:
        return "closed"
    return "acknowledged" if known.covers(severity) else "worse"
