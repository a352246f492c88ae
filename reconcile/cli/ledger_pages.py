"""Reads ledgers entry by entry: that of the sidecar, and that of commands beside it, which may be long."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

import msgspec

from exporter.config.forms import parse_duration

from ..ledger import Entry, Event, Ledger, newest_first
from ..ledger.attempts import taken
from ..ledger.history import History
from ..ledger.manual import folder
from ..plan.removal import GUARD
from ..publish.attempt_summary import AttemptSummary, CanaryStop, CanaryStops, ending, summaries_of
from ..publish.tallies import Counts, counts_of

_SHADOWED = (Event.SHADOWED, Event.WENT)
_LOOKED = {Event.IN_USE: "in use", Event.UNSEEN: "use of the address unknown"}  # what it released, beside how it ended


class AttemptRow(NamedTuple):
    """An attempt: what was intended, without the object, how it ended as a word, and what a second look saw."""

    intended: Entry
    end: str
    looked: str = ""

    @property
    def outcome(self) -> str:
        return f"{self.end}, {self.looked}" if self.looked else self.end


class Summary(NamedTuple):
    """What the ledgers have of each attempt, and of what was only shadowed, the oldest first; what was counted; and
    which canaries stopped.
    """

    attempts: list[AttemptSummary]
    counts: Counts
    canary_stops: list[CanaryStop]


def _ledgers(directory: Path) -> list[Path]:
    own = folder(directory)
    return [directory, own] if own.is_dir() else [directory]


def entries_of(directory: Path) -> Iterator[Entry]:
    """All entries, oldest first. Raises LedgerError."""
    return heapq.merge(*(Ledger.read(each) for each in _ledgers(directory)), key=lambda entry: entry.at)


def history_of(directory: Path, now: float) -> History:
    """Of all entries, and of those that were removed what was carried; `now` is in seconds since 1970.

    Raises LedgerError.
    """
    history = History()
    first = next(Ledger.read(directory), None)
    if first is not None and first.seq > 1 and first.opens is not None and "history" in first.opens.carried:
        history.restore(bytes(first.opens.carried["history"]))
    for entry in entries_of(directory):
        history.add(entry)
    history.forget(now)
    return history


def entries_about(directory: Path, attempt: str) -> list[Entry]:
    """Those of one attempt, and of what took it back, oldest first. Raises LedgerError."""
    wanted, found = {attempt}, []
    for entry in entries_of(directory):
        if entry.undoes == attempt:
            wanted.add(entry.attempt)
        if entry.attempt in wanted:
            found.append(_unopened(entry))
    return found


def known_guards(directory: Path | None) -> dict[str, str]:
    """The attempts that put a guard and were not taken back, by the UIDs of what they guard. Raises LedgerError."""
    found: dict[str, str] = {}
    by_attempt: dict[str, list[Entry]] = {}
    for entry in entries_of(directory) if directory is not None else ():
        plan = entry.plan
        if entry.event is Event.INTENDED and plan is not None and plan.remediation == GUARD:
            if not entry.undoes:
                found[plan.target.uid] = entry.attempt
                by_attempt[entry.attempt] = []
            elif entry.undoes in by_attempt:
                by_attempt[entry.attempt] = by_attempt[entry.undoes]
        if entry.attempt in by_attempt:
            by_attempt[entry.attempt].append(entry)
    return {uid: attempt for uid, attempt in found.items() if _stands(by_attempt[attempt], attempt)}


def _stands(entries: Iterable[Entry], attempt: str) -> bool:
    try:
        taken(entries, attempt)
    except ValueError:
        return False
    return True


def summary_of(directory: Path) -> Summary:
    """Raises LedgerError."""
    counts: Counts = []
    stops = CanaryStops()
    found = summaries_of(stops.take(counts_of(entry, counts)) for entry in entries_of(directory))
    return Summary(found, sorted(counts, key=lambda each: each[0]), stops.found)


def newest(directory: Path, since: float, limit: int) -> list[Entry]:
    """At most so many entries, the newest first; `since` is in seconds since 1970. Raises LedgerError."""
    each = (_newest(ledger, limit) for ledger in _ledgers(directory))
    merged = heapq.merge(*each, key=lambda entry: entry.at, reverse=True)
    return list(islice(takewhile(lambda entry: entry.at >= since, merged), limit))


def _newest(directory: Path, limit: int) -> Iterator[Entry]:
    for page in newest_first(directory):
        yield from reversed(deque(map(_unopened, page), maxlen=limit))


def rows(directory: Path, since: float, limit: int) -> list[AttemptRow]:
    """At most so many attempts, the newest first. Raises LedgerError."""
    merged = heapq.merge(
        *(_rows(ledger) for ledger in _ledgers(directory)), key=lambda row: row.intended.at, reverse=True
    )
    return list(islice(_taken_back(takewhile(lambda row: row.intended.at >= since, merged)), limit))


def _taken_back(found: Iterator[AttemptRow]) -> Iterator[AttemptRow]:
    """Whatever takes an attempt back is newer."""
    undone: set[str] = set()
    for row in found:
        if row.intended.undoes and row.end == "done":
            undone.add(row.intended.undoes)
        yield row._replace(end="undone") if row.intended.attempt in undone else row


def _rows(directory: Path) -> Iterator[AttemptRow]:
    ends: dict[str, str] = {}
    looked: dict[str, str] = {}
    for page in newest_first(directory):
        begun: list[Entry] = []
        ended: dict[str, str] = {}
        for entry in page:
            if entry.event is Event.INTENDED and entry.plan is not None:
                begun.append(msgspec.structs.replace(entry, whole=None, request=None, opens=None))
            elif entry.event in _LOOKED:
                looked[entry.attempt] = _LOOKED[entry.event]
            elif entry.attempt and entry.event not in _SHADOWED:
                ended[entry.attempt] = ending(entry)
        ends = ended | ends  # what came later holds
        for entry in reversed(begun):
            yield AttemptRow(entry, ends.pop(entry.attempt, "no end"), looked.pop(entry.attempt, ""))


def _unopened(entry: Entry) -> Entry:
    """What a file carries is not for people."""
    return msgspec.structs.replace(entry, opens=None) if entry.opens is not None else entry


def given(text: str, now: float) -> float:
    """A time, or how long before `now` it is; in seconds since 1970, as `now` is. Raises ValueError."""
    try:
        return now - parse_duration(text).total_seconds()
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except ValueError as error:
        raise ValueError(f"--since {text!r} isn't a time. Write it as 7d, or as 2026-07-01T18:00:00Z") from error
