"""The causes of the open findings, kept by each change: a change costs the same however many findings a cause has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from ..facts.record import Ref
from ..findings.check import Check
from ..findings.finding import Finding
from ..findings.severity import Severity
from .open_cause import OpenCause

__all__ = ["HOUR", "CauseHistory", "Count"]

# What opened and closed of each cause in the last hour: in memory alone, and within a bound. Prometheus has the days.
#
# Where there is too much of all causes, that goes which changed longest ago, and `each_since` says from when on all of
# it is there. What opened and closed in all is always kept. A restart begins anew, and `since` says when that was.

HOUR = 3600.0
_MINUTE = 60.0


class Count(msgspec.Struct, frozen=True):
    """How many findings opened and closed within the last hour, by the minute."""

    opened: int = 0
    closed: int = 0


class _Log(list[int]):
    """For each minute in which something did, how many opened and closed: one flat list, the oldest first, since there
    may be as many causes as objects. 60 minutes at most.
    """

    __slots__ = ()

    @property
    def entries(self) -> int:
        return len(self) // 3

    def note(self, now: float, opened: int, closed: int) -> None:
        minute = self._forget(now)
        if not self or self[-3] != minute:
            self += (minute, 0, 0)
        self[-2] += opened
        self[-1] += closed

    def lately(self, now: float) -> Count:
        self._forget(now)
        return Count(sum(self[1::3]), sum(self[2::3]))

    def _forget(self, now: float) -> int:
        """What is older than an hour; returns the minute. What is ahead of a clock that was set back counts as of now:
        else it would be of the last hour for longer than one.
        """
        minute = int(now // _MINUTE)
        if self and self[-3] > minute:
            self[::3] = [min(at, minute) for at in self[::3]]
        old = 0
        while old < len(self) and self[old] <= minute - HOUR / _MINUTE:
            old += 3
        del self[:old]
        return minute


class CauseHistory:
    def __init__(self, most: int = 50_000) -> None:
        """`most` is how many minutes of single causes are kept, of 100 bytes at most."""
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

    def of(self, cause: str, now: float) -> Count:
        log = self._of.get(cause)
        if log is None:
            return Count()
        before = log.entries
        found = log.lately(now)
        self._entries += log.entries - before
        return found

    def whole(self, now: float) -> Count:
        """Of all causes."""
        return self._whole.lately(now)

    def forget(self, now: float) -> None:
        """What was before the last hour, and what is too much."""
        while self._of:
            cause, log = next(iter(self._of.items()))
            last = log[-3] * _MINUTE if log else 0.0
            if last > now - HOUR and self._entries <= self.most:
                return
            self._entries -= log.entries
            del self._of[cause]
            if last > now - HOUR:
                self.each_since = max(self.each_since, last + _MINUTE)


class EndedCause(NamedTuple):
    """A cause without findings, since when in seconds since 1970, and the object whose finding closed last."""

    cause: OpenCause
    at: float
    last: Ref


class CauseStore:
    def __init__(self, checks: Iterable[Check], clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970."""
        self._checks: Mapping[str, Check] = {check.id: check for check in checks}
        self._clock = clock
        self._causes: dict[str, OpenCause] = {}
        # Those without findings, the first ones ended first, as long as the history knows them. Of a dict the first one
        # would be searched past all that were taken out.
        self._ended: OrderedDict[str, EndedCause] = OrderedDict()
        self._latest = 0.0  # what the clock said last
        self.history = CauseHistory()
        self.version = 0  # another one after each change

    def __iter__(self) -> Iterator[OpenCause]:
        """Those with findings, in the order in which they came."""
        return (cause for cause in self._causes.values() if cause)

    def __len__(self) -> int:
        return len(self._causes) - len(self._ended)

    def ended(self) -> Iterator[EndedCause]:
        """Those whose last finding closed within the last hour, the last one first."""
        self._forget(self._clock())
        return reversed(self._ended.values())

    def get(self, cause: str) -> OpenCause | None:
        return self._causes.get(cause)

    def severity_of(self, cause: str) -> Severity | None:
        """None where no finding has the cause."""
        found = self._causes.get(cause)
        return found.severity if found else None

    def changes(self, cause: str) -> Count:
        """What opened and closed of one lately."""
        return self.history.of(cause, self._clock())

    def update(self, gone: Iterable[Finding], come: Iterable[Finding], *, counts: bool = True) -> None:
        """Takes in a batch of differences; a changed finding is in both. Without `counts` nothing has opened or closed:
        it is only seen for the first time.
        """
        now = self._clock()
        self.version += 1
        # Two partitions may have found one, one after another.
        after = {finding.fingerprint: finding for finding in come}
        for finding in gone:
            later = after.get(finding.fingerprint)
            if later is None or later.cause != finding.cause:
                self._remove(finding, now, counts=counts)
        for finding in after.values():
            self._add(finding, now, counts=counts)
        self._forget(now)

    def _remove(self, finding: Finding, now: float, *, counts: bool) -> None:
        cause = self._causes.get(finding.cause)
        if cause is None or not cause.remove(finding.fingerprint):
            return
        if counts:
            self.history.note(cause.id, now, 0, 1)
        if not cause:
            self._ended.pop(cause.id, None)
            self._ended[cause.id] = EndedCause(cause, now, finding.subject)

    def _add(self, finding: Finding, now: float, *, counts: bool) -> None:
        cause = self._causes.get(finding.cause)
        if cause is None:
            reference = self._checks[finding.check].cause_of(finding)
            cause = self._causes[finding.cause] = OpenCause(finding.cause, finding.check, finding.reason, reference)
        self._ended.pop(cause.id, None)
        if cause.put(finding) and counts:
            self.history.note(cause.id, now, 1, 0)

    def _forget(self, now: float) -> None:
        if now < self._latest:  # the clock was set back: what ended ahead of it ended now
            self._ended = OrderedDict((key, each._replace(at=min(each.at, now))) for key, each in self._ended.items())
        self._latest = now
        self.history.forget(now)
        while self._ended:
            cause, ended = next(iter(self._ended.items()))
            if ended.at > now - HOUR and cause in self.history:
                return
            self._ended.popitem(last=False)
            del self._causes[cause]
