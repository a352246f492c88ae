"""How much of what a ledger has was in a time, by remediation, by cause, or by day. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

import msgspec

from exporter.findings.causes import Reference

from ..ledger import Counted, Entry, Event
from ..plan.text import words
from .attempt_summary import AttemptSummary, CanaryStop

_FIRST = 5  # objects that are named


class Tally(msgspec.Struct, rename="camel"):
    """Attempts, by what they were and what came of them in a time.

    `found` and `planned` are findings: the most that were counted at once in that time, which the sidecar does while a
    remediation is in mode `shadow`; at least those that the attempts are for. `unclear` are attempts of which it is not
    known whether they wrote.
    """

    found: int = 0
    planned: int = 0
    shadowed: int = 0
    went: int = 0
    approved: int = 0
    written: int = 0
    failed: int = 0
    unclear: int = 0
    verified: int = 0
    persists: int = 0
    returned: int = 0
    undone: int = 0


COLUMNS = {
    "found": "found",
    "planned": "planned",
    "shadowed": "shadowed",
    "went": "went",
    "approved": "approved",
    "written": "written",
    "failed": "failed",
    "unclear": "unclear",
    "verified": "verified",
    "persists": "persists",
    "returned": "came back",
    "undone": "undone",
}
"""The words for what a tally counts."""


class Span(NamedTuple):
    """From a moment on until before another one, in seconds since 1970."""

    since: float
    until: float

    def has(self, at: float) -> bool:
        return self.since <= at < self.until


class DayRow(msgspec.Struct, frozen=True):
    """`day` is a date in UTC."""

    day: str
    remediation: str
    tally: Tally


class Account(msgspec.Struct, frozen=True, rename="camel"):
    """What was done in a time, by remediation. `canaries` are those that stopped or were resumed in it, and `failed`
    the attempts that failed or did not hold, or of which nothing is known, the newest first.
    """

    since: float
    remediations: dict[str, Tally]
    canaries: list[CanaryStop]
    failed: list[AttemptSummary]


class CauseRow(msgspec.Struct, frozen=True, rename="camel"):
    """One remediation and one cause. `what` is the cause in words, `first` are some of its `objects`, and `last` is
    when the last of its attempts was begun.
    """

    remediation: str
    check: str
    reason: str
    cause: str
    reference: Reference
    what: str
    objects: int
    first: tuple[str, ...]
    namespaces: int
    last: float
    tally: Tally


WRONG = ("failed", "unclear", "persists", "returned")
"""What a tally counts of attempts that did not do what they were to."""

Counts = list[tuple[float, dict[str, Counted]]]
"""What was counted, by remediation, and when."""

K = TypeVar("K")


def counts_of(entry: Entry, into: Counts) -> Entry:
    """Notes what an entry counts, and passes it on."""
    if entry.event is Event.COUNTED:
        into.append((entry.at, entry.counts))
    return entry


def account(
    attempts: Sequence[AttemptSummary],
    counts: Counts,
    stops: Sequence[CanaryStop],
    span: Span,
    limit: int | None = None,
) -> Account:
    """Of attempts and canaries, the oldest first; at most `limit` of those that are listed."""
    found = _summed(attempts, span, lambda attempt, _: attempt.remediation)
    _count(found, counts, span, lambda remediation, _: remediation)
    return Account(
        since=span.since,
        remediations=dict(sorted(found.items())),
        canaries=[each for each in reversed(stops) if span.has(each.at) or span.has(each.resumed or 0.0)][:limit],
        failed=[each for each in reversed(attempts) if any(wrong(each, span))][:limit],
    )


def wrong(attempt: AttemptSummary, span: Span) -> Iterator[str]:
    """What went wrong with it in a time, in the words of `COLUMNS`."""
    return (COLUMNS[name] for name, at in attempt.happenings() if name in WRONG and span.has(at))


def by_day(attempts: Iterable[AttemptSummary], counts: Counts, span: Span) -> list[DayRow]:
    """The newest day first."""
    found = _summed(attempts, span, lambda attempt, at: (_day(at), attempt.remediation))
    _count(found, counts, span, lambda remediation, at: (_day(at), remediation))
    rows = [DayRow(day, remediation, tally) for (day, remediation), tally in sorted(found.items())]
    return sorted(rows, key=lambda row: row.day, reverse=True)


def by_cause(attempts: Iterable[AttemptSummary], span: Span) -> list[CauseRow]:
    """Those of the most objects first; a cause has those of which something was in the time."""
    attempts = list(attempts)
    found = _summed(attempts, span, lambda attempt, _: (attempt.remediation, attempt.cause))
    members: dict[tuple[str, str], list[AttemptSummary]] = {}
    for attempt in attempts:
        if not attempt.undoes and any(span.has(at) for _, at in attempt.happenings()):
            members.setdefault((attempt.remediation, attempt.cause), []).append(attempt)
    rows = [_cause_row(own, found[key]) for key, own in members.items()]
    return sorted(rows, key=lambda row: (-row.objects, row.remediation, row.what, row.cause))


def _cause_row(own: list[AttemptSummary], tally: Tally) -> CauseRow:
    one, objects = own[0], list(dict.fromkeys(attempt.target for attempt in own))
    return CauseRow(
        remediation=one.remediation,
        check=one.check,
        reason=one.reason,
        cause=one.cause,
        reference=one.reference,
        what=words(one.reference),
        objects=len(objects),
        first=tuple(objects[:_FIRST]),
        namespaces=len({attempt.namespace for attempt in own}),
        last=max(attempt.at for attempt in own),
        tally=tally,
    )


def _summed(
    attempts: Iterable[AttemptSummary], span: Span, key: Callable[[AttemptSummary, float], K]
) -> dict[K, Tally]:
    tallies: dict[K, Tally] = {}
    findings: dict[K, set[str]] = {}
    plans: dict[K, set[str]] = {}
    for attempt in attempts:
        for name, at in attempt.happenings():
            if not span.has(at):
                continue
            where = key(attempt, at)
            tally = tallies.setdefault(where, Tally())
            setattr(tally, name, getattr(tally, name) + 1)
            findings.setdefault(where, set()).add(attempt.fingerprint)
            plans.setdefault(where, set()).add(attempt.plan)
    for where, tally in tallies.items():
        tally.found, tally.planned = len(findings[where]), len(plans[where])
    return tallies


def _count(found: dict[K, Tally], counts: Counts, span: Span, key: Callable[[str, float], K]) -> None:
    for at, counted in counts:
        if not span.has(at):
            continue
        for remediation, each in counted.items():
            tally = found.setdefault(key(remediation, at), Tally())
            tally.found, tally.planned = max(tally.found, each.found), max(tally.planned, each.planned)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
