"""What opened and closed of each cause in the last hour, day and week: in memory alone, and within a bound.

What is older is kept in longer steps, so that a cause costs little however often it changes. Where there is too much
of all causes, that goes which changed longest ago, and `each_since` says from when on all of it is there. What opened
and closed in all is always kept. A restart begins anew, and `since` says when that was.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

__all__ = ["DAY", "HOUR", "WEEK", "CauseHistory", "Changes", "Count"]

HOUR, DAY, WEEK = 3600.0, 86400.0, 604800.0
_MINUTE = 60.0
# Up to which age, and in steps of how many minutes.
_STEPS = ((HOUR / _MINUTE, 1), (DAY / _MINUTE, 30), (WEEK / _MINUTE, 360))


class Count(msgspec.Struct, frozen=True):
    """How many findings opened and closed."""

    opened: int = 0
    closed: int = 0


class Changes(msgspec.Struct, frozen=True):
    """In the last hour by the minute, in the last day by half an hour, in the last week by six hours."""

    hour: Count = Count()
    day: Count = Count()
    week: Count = Count()


class _Log(list[int]):
    """For each step its first minute, and how many opened and closed: one flat list, the oldest first, since there may
    be as many causes as objects. 61, 49 and 29 steps at most.
    """

    __slots__ = ()

    @property
    def entries(self) -> int:
        return len(self) // 3

    def note(self, now: float, opened: int, closed: int) -> None:
        self.fold(now)
        self._add(int(now // _MINUTE), opened, closed)

    def changes(self, now: float) -> Changes:
        self.fold(now)
        minute = int(now // _MINUTE)
        return Changes(*(self._within(minute - most) for most, _ in _STEPS))

    def fold(self, now: float) -> None:
        """Puts what has become old into longer steps, and forgets what is older than a week. What is ahead of a clock
        that was set back counts as of now: else it would be of the last hour for longer than one.
        """
        minute = int(now // _MINUTE)
        if self and self[-3] == minute:
            return  # that was done within the minute: many may open or close at once
        before = self[:]
        self.clear()
        for at, opened, closed in zip(before[::3], before[1::3], before[2::3], strict=True):
            age = minute - at
            step = next((step for most, step in _STEPS if age < most), 0)
            if step:
                self._add(min(at - at % step, minute), opened, closed)

    def _add(self, minute: int, opened: int, closed: int) -> None:
        if not self or self[-3] != minute:
            self += (minute, 0, 0)
        self[-2] += opened
        self[-1] += closed

    def _within(self, after: float) -> Count:
        at = len(self)
        opened = closed = 0
        while at and self[at - 3] > after:
            opened, closed, at = opened + self[at - 2], closed + self[at - 1], at - 3
        return Count(opened, closed)


class CauseHistory:
    def __init__(self, most: int = 50_000) -> None:
        """`most` is how many entries of single causes are kept, of 300 bytes at most."""
        self.most = most
        self.since: float | None = None  # when it began to count, in seconds since 1970
        self.each_since = 0.0  # from when on what is kept of single causes is all that there was
        self._whole = _Log()
        self._of: OrderedDict[str, _Log] = OrderedDict()  # by cause: what changed longest ago comes first
        self._entries = 0

    def __contains__(self, cause: str) -> bool:
        return cause in self._of

    def begin(self, now: float) -> None:
        """From now on, in seconds since 1970, what opens and closes is counted."""
        if self.since is None:
            self.since = self.each_since = now

    def note(self, cause: str, now: float, opened: int, closed: int) -> None:
        self._whole.note(now, opened, closed)
        log = self._of.pop(cause, None) or _Log()
        before = log.entries
        log.note(now, opened, closed)
        self._of[cause] = log
        self._entries += log.entries - before
        self.forget(now)

    def of(self, cause: str, now: float) -> Changes:
        log = self._of.get(cause)
        if log is None:
            return Changes()
        before = log.entries
        found = log.changes(now)
        self._entries += log.entries - before
        return found

    def whole(self, now: float) -> Changes:
        """Of all causes."""
        return self._whole.changes(now)

    def forget(self, now: float) -> None:
        """What was before the last week, and what is too much."""
        while self._of:
            cause, log = next(iter(self._of.items()))
            last = log[-3] * _MINUTE if log else 0.0
            if last > now - WEEK and self._entries <= self.most:
                return
            self._entries -= log.entries
            del self._of[cause]
            if last > now - WEEK:
                self.each_since = max(self.each_since, last + _MINUTE)
