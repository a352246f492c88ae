"""How long an event takes to reach the findings, as a histogram.

The engine reports each change as it arrives and, after each step, up to when the findings reflect what arrived. Changes
of one millisecond are kept as one entry, so that a flood of events costs little.
"""

from __future__ import annotations

from collections import deque

from .histogram import Histogram

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_TOGETHER = 0.001  # seconds


class EventDelay:
    def __init__(self) -> None:
        self.histogram = Histogram(BUCKETS)
        self._waiting: deque[tuple[float, int]] = deque()  # when they arrived, how many

    def arrived(self, now: float) -> None:
        """Takes in one event; times are seconds that only grow."""
        if self._waiting and now - self._waiting[-1][0] < _TOGETHER:
            since, count = self._waiting.pop()
            self._waiting.append((since, count + 1))
        else:
            self._waiting.append((now, 1))

    def reflected(self, until: float, now: float) -> None:
        """Takes in that the findings reflect what arrived before `until`."""
        while self._waiting and self._waiting[0][0] < until:
            since, count = self._waiting.popleft()
            self.histogram.observe(now - since, count)
