"""Follows each repair: whether its finding went, stayed, or came back because somebody reverted it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from ..decide.repair import Hint
from ..ledger import Entry, Event
from ..plan.plan import Plan

_LONGEST = 91 * 86_400.0  # seconds; the history knows no attempt for longer


class Followed(msgspec.Struct, array_like=True):
    """One attempt that happened, or was shadowed. `state`: done, verified, persists or returned. Times are in seconds
    since 1970.

    Its plan and its object are in the ledger. While it is a `canary` it is followed until its finding stayed gone; one
    that does not settle its finding only counts as verified from its end on.
    """

    attempt: str
    remediation: str
    hint: Hint
    settles: bool
    intended: float
    done: float | None = None
    state: str = "done"
    canary: bool = False
    verified: float = 0.0

    def stayed(self, now: float, stays: float) -> bool:
        """Whether it is time to see that its finding stayed gone."""
        return self.canary and self.state == "verified" and now - self.verified >= stays

    def due(self, now: float, after: float, stays: float, *, found: bool) -> bool:
        if self.done is None:
            return False
        if self.state == "done":
            return now - self.done >= after or not found
        return self.stayed(now, stays) or (self.state == "verified" and self.settles and found)


class _Known(msgspec.Struct, frozen=True):
    keep: float
    seq: int
    followed: list[Followed] = []
    shadowed: list[Followed] = []


class AttemptOutcomes:
    """The attempts that are still looked after, by the entries of the ledger, of which it is a reader."""

    def __init__(self, entries: Iterable[Entry] = (), *, keep: float) -> None:
        """`keep` is for how many seconds a repair that held is looked after."""
        self._keep = keep
        self.seq = 0
        self._followed: dict[str, Followed] = {}
        self._shadowed: dict[str, Followed] = {}  # by fingerprint: of findings that are open
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        event, attempt = entry.event, entry.attempt
        self.seq = entry.seq
        if event is Event.INTENDED and entry.plan is not None and not entry.undoes:
            self._followed[attempt] = _followed(entry, entry.plan)
            self._shadowed.pop(entry.plan.fingerprint, None)
            return
        if event is Event.SHADOWED and entry.plan is not None:
            self._shadowed[entry.plan.fingerprint] = _followed(entry, entry.plan)
            return
        if event is Event.WENT:
            self._shadowed = {key: each for key, each in self._shadowed.items() if each.attempt != attempt}
            return
        followed = self._followed.get(attempt)
        if followed is None:
            return
        if event is Event.DONE or (event is Event.RESOLVED and entry.happened):
            followed.done = entry.at
            if not followed.settles and not followed.canary:
                del self._followed[attempt]
            elif not followed.settles:
                followed.state, followed.verified = "verified", entry.at
        elif event in (Event.VERIFIED, Event.PERSISTS, Event.RETURNED):
            followed.state, followed.verified = event.value, entry.at
        elif event is Event.STAYED:
            followed.canary = False
            if not followed.settles:
                del self._followed[attempt]
        elif event in (Event.FAILED, Event.RESOLVED, Event.TAKEN_BACK):
            del self._followed[attempt]

    def due(
        self, now: float, after: float, found: Iterable[str], stays: Callable[[str], float] = lambda _: 0.0
    ) -> list[Followed]:
        """Those to look at: done so many seconds ago or no longer found, verified and found again, or a canary that
        was verified so long ago as `stays` says for its remediation.
        """
        there = set(found)
        self.forget(now)
        return [
            each
            for each in self._followed.values()
            if each.due(now, after, stays(each.remediation), found=each.hint.fingerprint in there)
        ]

    def awaited(self, fingerprint: str) -> bool:
        """Whether an attempt was made for a finding, and it is still to be seen what became of it."""
        return any(each.hint.fingerprint == fingerprint and each.state == "done" for each in self._followed.values())

    def shadowed(self, fingerprint: str) -> bool:
        """Whether what would be written for a finding was shadowed, and it has not gone since."""
        return fingerprint in self._shadowed

    def unreported(self, found: Iterable[str]) -> list[Followed]:
        """What was shadowed for findings that are no longer reported."""
        there = set(found)
        return [each for key, each in self._shadowed.items() if key not in there]

    def forget(self, now: float) -> None:
        """Drops what is looked after no longer; to be called now and then."""
        old = [
            attempt
            for attempt, each in self._followed.items()
            if each.done is not None and now - each.done > (_LONGEST if self._pending(each) else self._keep)
        ]
        for attempt in old:
            del self._followed[attempt]

    @staticmethod
    def _pending(followed: Followed) -> bool:
        return followed.state == "done" or (followed.canary and followed.state == "verified")

    def carried(self) -> bytes:
        return msgspec.json.encode(
            _Known(self._keep, self.seq, list(self._followed.values()), list(self._shadowed.values()))
        )

    def fits(self, carried: bytes) -> bool:
        try:
            return msgspec.json.decode(carried, type=_Known).keep >= self._keep
        except msgspec.MsgspecError:
            return False  # of another version

    def restore(self, carried: bytes) -> None:
        known = msgspec.json.decode(carried, type=_Known)
        self.seq, self._followed = known.seq, {each.attempt: each for each in known.followed}
        self._shadowed = {each.hint.fingerprint: each for each in known.shadowed}


def _followed(entry: Entry, plan: Plan) -> Followed:
    hint = Hint(plan.check, plan.reason, plan.subject, plan.fingerprint)
    return Followed(entry.attempt, plan.remediation, hint, plan.settles, entry.at, canary=bool(entry.canary))
