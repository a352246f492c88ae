"""A report of a time, from the ledgers alone: what was found, approved, written, and what came of it. Pure.

The same entries and the same time give the same report.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from .deeds import Deed
from .stops import CanaryStop
from .tallies import CauseRow, Counts, Span, Tally, by_cause, by_remediation


class Approver(msgspec.Struct, frozen=True, rename="camel"):
    """How many attempts somebody approved of, or made by `apply`, of one remediation; `mode` says which."""

    by: str
    mode: str
    remediation: str
    attempts: int


class LedgerReport(msgspec.Struct, frozen=True, rename="camel"):
    """`since` and `until` are in seconds since 1970. `written` are the attempts that were begun in that time or of
    which something came in it, and `taken_back` those that took one back, the oldest first; `shadowed` is what would
    have been written.
    """

    ledger: str  # the ID of the sidecar's ledger
    cluster: str  # the UID of its namespace kube-system
    since: float
    until: float
    remediations: dict[str, Tally]
    causes: tuple[CauseRow, ...]
    approvers: tuple[Approver, ...]
    written: tuple[Deed, ...]
    taken_back: tuple[Deed, ...]
    shadowed: tuple[Deed, ...]
    canaries: tuple[CanaryStop, ...]


def reported(
    deeds: Iterable[Deed],
    counts: Counts,
    stops: Iterable[CanaryStop],
    span: Span,
    *,
    ledger: str = "",
    cluster: str = "",
) -> LedgerReport:
    """Of the deeds of ledgers, the oldest first."""
    deeds = list(deeds)
    own = [deed for deed in deeds if _within(deed, span)]
    return LedgerReport(
        ledger=ledger,
        cluster=cluster,
        since=span.since,
        until=span.until,
        remediations=by_remediation(deeds, counts, span),
        causes=tuple(by_cause(deeds, span)),
        approvers=tuple(_approvers(own, span)),
        written=tuple(deed for deed in own if not deed.shadow and not deed.undoes),
        taken_back=tuple(deed for deed in own if deed.undoes),
        shadowed=tuple(deed for deed in own if deed.shadow),
        canaries=tuple(
            stop for stop in stops if span.has(stop.at) or (stop.resumed is not None and span.has(stop.resumed))
        ),
    )


def _within(deed: Deed, span: Span) -> bool:
    return span.has(deed.at) or any(span.has(at) for _, at in deed.happenings())


def _approvers(deeds: Iterable[Deed], span: Span) -> list[Approver]:
    found: dict[tuple[str, str, str], int] = {}
    for deed in deeds:
        if deed.by and not deed.undoes and span.has(deed.at):
            key = deed.by, deed.mode, deed.remediation
            found[key] = found.get(key, 0) + 1
    return [Approver(*key, number) for key, number in sorted(found.items())]
