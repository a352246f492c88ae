"""The ledger of a sidecar in an interleaving, without a disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reconcile.ledger import Entry, Event
from reconcile.ledger.starting import OpenItems

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """The ledger without a disk; `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._items = clock, OpenItems()
        self.kept: list[Entry] = []

    def append(self, event: Event, *, attempt: str = "", **fields: Any) -> Entry:
        seq = len(self.kept) + 1
        if event in (Event.INTENDED, Event.SHADOWED):
            attempt = f"{fields['plan'].hash}-{seq}"
        entry = Entry(seq=seq, at=self._clock(), event=event, attempt=attempt, **fields)
        self._items.allow(entry)
        self._items.take(entry)
        self.kept.append(entry)
        return entry

    def unfinished(self) -> list[Entry]:
        return self._items.unfinished()

    def intended(self, attempt: str) -> Entry | None:
        own = (each for each in self.kept if each.event is Event.INTENDED and each.attempt == attempt)
        return next(own, None)

    def entries(self) -> Iterable[Entry]:
        return iter(self.kept)
