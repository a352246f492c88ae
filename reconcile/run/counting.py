"""Keeps how many findings there are and of how many there is a plan: what a report says beside what was shadowed.

At most once an hour, and only if it is something else than the last time: a ledger of weeks stays short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..ledger import Counted, Event, Ledger
from .context import Candidate, RunContext

_EVERY = 3600.0  # seconds


class Counting:
    def __init__(self, context: RunContext, ledger: Ledger) -> None:
        self._context, self._ledger = context, ledger
        self._last: dict[str, Counted] = {}
        self._at: float | None = None

    def count(self, candidates: Iterable[Candidate]) -> None:
        """After a run, of all that has a remediation which is not off. Raises LedgerError."""
        now = self._context.clock()
        if self._at is not None and 0 <= now - self._at < _EVERY:
            return
        counts = self._counts(candidates)
        if counts != self._last:
            self._context.kept(self._ledger.append(Event.COUNTED, counts=counts))
            self._last, self._at = counts, now

    def _counts(self, candidates: Iterable[Candidate]) -> dict[str, Counted]:
        found, planned = Counter[str](), Counter[str]()
        for each in candidates:
            shown = self._context.board.get(*each.key)
            found[each.remediation.id] += 1
            planned[each.remediation.id] += shown is not None and bool(shown.hash)
        return {each: Counted(found[each], planned[each]) for each in sorted(found)}
