"""How far our clock is from those of the API servers, by the `Date` of their responses.

A response says what the API server's clock showed between the moment at which its request was sent and the one at which
it arrived, to the second. Both moments are taken of a clock that nobody sets (`boottime`), so that our own clock is
compared as it is when it is asked for: one that is set in between is seen at once.

Several API servers may answer, each by a clock of its own, and none says which it is. So the worst of what was seen
within the last minutes counts.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from ..facts.times import Skew

_KEPT = 300.0  # seconds
_SPAN = 10.0  # of these the least and the largest are kept
_SLOWEST = 10.0  # what took longer says too little of a moment
_RESOLUTION = 1.0  # of the header
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # elsewhere the latter goes on during a sleep


def boottime() -> float:
    """Seconds since the boot, with those in which the computer or this process was suspended."""
    return time.clock_gettime(_BOOTTIME)


class _Offsets(NamedTuple):
    """Between the clock of API servers and ours that nobody sets, in seconds."""

    since: float
    least: float
    largest: float


class ServerClocks:
    def __init__(self, timer: Callable[[], float] = boottime, host: str = "") -> None:
        """`host` is the name of where this runs, by default the one that the system has: that of the pod."""
        self._timer = timer
        self._host = host or os.environ.get("NODE_NAME") or socket.gethostname()
        self._offsets: deque[_Offsets] = deque()

    def take(self, sent: float, received: float, date: str | None) -> None:
        """Takes in the header of a response; one that can't be read says nothing. Both by the timer."""
        if date is None or not 0 <= received - sent <= _SLOWEST:
            return
        try:
            shown = parsedate_to_datetime(date).timestamp() + _RESOLUTION / 2
        except (ValueError, TypeError, OverflowError):
            return
        offset = shown - (sent + received) / 2
        last = self._offsets[-1] if self._offsets else None
        if last is None or received - last.since > _SPAN:
            self._offsets.append(_Offsets(received, offset, offset))
        else:
            self._offsets[-1] = _Offsets(last.since, min(last.least, offset), max(last.largest, offset))
        self._forget(received)

    def skew(self, wall: float | None = None) -> Skew | None:
        """By what our clock shows now, in seconds since 1970; None where no API server has answered for 5 minutes."""
        wall, now = time.time() if wall is None else wall, self._timer()
        self._forget(now)
        if not self._offsets:
            return None
        least, largest = min(each.least for each in self._offsets), max(each.largest for each in self._offsets)
        ours = wall - now
        return Skew(max(ours - least, ours - largest, key=abs), largest - least, self._host)

    def _forget(self, now: float) -> None:
        while self._offsets and now - self._offsets[0].since > _KEPT:
            self._offsets.popleft()
