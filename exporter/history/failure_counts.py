"""How many migrations have failed since the start, by what they failed of: each once, by its UID.

A counter never goes back, so a failure counts once its class is certain: with its text, which may arrive a moment after
it, or when none has come for a minute.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ..domain.drains.failures import CLASSES, OTHER, FailedMigration

_AWAITED = 60.0  # seconds in which the text of a failure may still arrive
_KNOWN = 50_000  # UIDs of failures that count no more; those that were seen first go first


class FailureCounts:
    def __init__(self, timer: Callable[[], float]) -> None:
        """`timer` gives seconds that only grow."""
        self._timer = timer
        self._counts = {**dict.fromkeys((each.id for each in CLASSES), 0), OTHER: 0}
        self._known: OrderedDict[str, None] = OrderedDict()
        self._awaited: OrderedDict[str, float] = OrderedDict()  # by UID: when it was seen, of those without a text

    def note(self, failed: FailedMigration, *, new: bool) -> None:
        """Takes in what is known of a failure by now; one that is not `new` was there before anybody counted."""
        uid = failed.uid
        if uid not in self._known:
            self._known[uid] = None
            if new:
                self._awaited[uid] = self._timer()
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        if uid in self._awaited and (failed.text or failed.failure != OTHER):
            del self._awaited[uid]
            self._counts[failed.failure] += 1
        self._settle()

    def by_class(self) -> dict[str, int]:
        """Of every class, also at 0."""
        self._settle()
        return dict(self._counts)

    def _settle(self) -> None:
        """Without a text until now, without one for good."""
        before = self._timer() - _AWAITED
        while self._awaited and next(iter(self._awaited.values())) <= before:
            self._awaited.popitem(last=False)
            self._counts[OTHER] += 1
