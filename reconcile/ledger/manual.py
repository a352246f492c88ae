"""The ledger of what people did in the sidecar's pod, beside the sidecar's own, which only the sidecar writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from exporter.kube.clocks import boottime

from . import Entry, Event, Ledger, LedgerError
from .history import Attempt, History
from .settling import ARRIVES


def folder(directory: Path) -> Path:
    """Where it is, by the directory of the sidecar's ledger."""
    return directory / "by-hand"


class ManualLedger:
    """Which repairs were taken back, how many of each remediation, and what of it may still arrive; read again once
    something was written.
    """

    def __init__(self, directory: Path, *, arrives: float = ARRIVES, timer: Callable[[], float] = boottime) -> None:
        """`arrives` is after how many seconds a request without an answer can't arrive any more."""
        self._folder = folder(directory)
        self._arrives, self._timer = arrives, timer
        self._size, self._unread = 0, ""
        self._undone: Counter[str] = Counter()
        self._takers: dict[str, str] = {}
        self._open: dict[str, tuple[Attempt, float]] = {}  # and when it was first seen

    def undone(self) -> Counter[str]:
        self._look()
        return self._undone

    def takers(self) -> Mapping[str, str] | None:
        """By the attempts of ours that people took back: the attempts that did, empty while that is unknown. None
        where they can't be read.
        """
        self._look()
        return None if self._unread else self._takers

    def unfinished(self) -> list[Attempt] | str:
        """Attempts of which it is not known what came of them, for as long as their request may arrive: nobody else
        than the next command of a person settles them. Where they can't be read, why.
        """
        self._look()
        if self._unread:
            return self._unread
        now = self._timer()
        return [attempt for attempt, since in self._open.values() if now - since <= self._arrives]

    def _look(self) -> None:
        try:
            size = sum(each.stat().st_size for each in self._folder.glob("*.jsonl"))
            if size != self._size:
                self._read()
                self._size = size
            self._unread = ""
        except (OSError, LedgerError) as error:
            self._unread = f"the ledger in {self._folder}, of what people did: {error}"

    def _read(self) -> None:
        intended: dict[str, Entry] = {}
        undone: dict[str, str] = {}  # the remediations, by attempt
        takers: dict[str, str] = {}
        history = History()
        for entry in Ledger.read(self._folder):
            history.add(entry)
            if entry.event is Event.INTENDED and entry.undoes:
                intended[entry.attempt] = msgspec.structs.replace(entry, whole=None, request=None)
                takers[entry.undoes] = ""
            elif (own := intended.get(entry.attempt)) is None:
                continue
            elif entry.event is Event.DONE or entry.happened:
                undone[own.attempt] = own.plan.remediation if own.plan is not None else ""
                takers[own.undoes] = own.attempt
            elif entry.event is Event.FAILED or entry.happened is False:
                takers.pop(own.undoes, None)
        self._undone = Counter(filter(None, undone.values()))
        self._takers = takers
        now = self._timer()
        self._open = {each.id: (each, self._open.get(each.id, (each, now))[1]) for each in history.unfinished()}
