"""Follows each repair: whether its finding went, stayed, or came back because somebody reverted it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .confirm import Hint
from .ledger import Entry, Event
from .plan import Plan

__all__ = ["Followed", "Following"]


@dataclass
class Followed:
    """One attempt that happened. `state`: done, verified, persists or returned. Times are in seconds since 1970."""

    attempt: str
    plan: Plan
    before: Mapping[str, Any]
    mode: str
    intended: float
    done: float | None = None
    state: str = "done"

    @property
    def hint(self) -> Hint:
        plan = self.plan
        return Hint(plan.check, plan.reason, plan.subject, plan.fingerprint)


class Following:
    """The attempts that are still looked after, by the entries of the ledger."""

    def __init__(self, entries: Iterable[Entry] = (), *, keep: float) -> None:
        """`keep` is for how many seconds a repair that held is looked after."""
        self._keep = keep
        self._followed: dict[str, Followed] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        event, attempt = entry.event, entry.attempt
        if event is Event.INTENDED and entry.plan is not None and not entry.undoes:
            self._followed[attempt] = Followed(attempt, entry.plan, entry.whole or {}, entry.mode, entry.at)
            return
        followed = self._followed.get(attempt)
        if followed is None:
            return
        if event is Event.DONE or (event is Event.RESOLVED and entry.happened):
            followed.done = entry.at
            if not followed.plan.settles:
                del self._followed[attempt]
        elif event in (Event.VERIFIED, Event.PERSISTS, Event.RETURNED):
            followed.state = event.value
        elif event in (Event.FAILED, Event.RESOLVED):
            del self._followed[attempt]

    def due(self, now: float, after: float, found: Iterable[str]) -> list[Followed]:
        """Those to look at: done so many seconds ago or no longer found, or verified and found again."""
        there = set(found)
        self._forget(now)
        return [
            each
            for each in self._followed.values()
            if each.done is not None
            and (
                (each.state == "done" and (now - each.done >= after or each.plan.fingerprint not in there))
                or (each.state == "verified" and each.plan.fingerprint in there)
            )
        ]

    def awaited(self, fingerprint: str) -> bool:
        """Whether an attempt was made for a finding, and it is still to be seen what became of it."""
        return any(each.plan.fingerprint == fingerprint and each.state == "done" for each in self._followed.values())

    def _forget(self, now: float) -> None:
        old = [
            attempt
            for attempt, each in self._followed.items()
            if each.state != "done" and each.done is not None and now - each.done > self._keep
        ]
        for attempt in old:
            del self._followed[attempt]
