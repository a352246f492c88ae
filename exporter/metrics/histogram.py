"""A histogram without labels."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Histogram:
    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are the upper bounds of the buckets, ascending and without infinity."""
        self.total = 0.0  # of all that was observed
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self.total += value * times

    def buckets(self) -> list[tuple[str, float]]:
        """The upper bound of each bucket, and how many observations are no larger."""
        bounds = (*map(str, self._bounds), "+Inf")
        return list(zip(bounds, accumulate(self._counts), strict=True))
