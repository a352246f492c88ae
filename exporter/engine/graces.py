"""When the graces of early findings end, by check and partition."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

_MOST = 1000  # that end at once: thousands of findings may have begun together
_STALE = 50  # that no longer hold and are kept, where hardly any hold


class Graces:
    def __init__(self) -> None:
        self._ends: dict[tuple[str, str], float] = {}  # of each check and partition the next one
        self._heap: list[tuple[float, str, str]] = []  # of all of them, and of some that no longer hold

    def put(self, check: str, partition: str, end: float | None) -> None:
        """Takes in when the next grace of the partition ends, in seconds since 1970; None for never."""
        key = check, partition
        if end is None:
            self._ends.pop(key, None)
        elif self._ends.get(key) != end:
            self._ends[key] = end
            heappush(self._heap, (end, *key))
        if len(self._heap) > 2 * len(self._ends) + _STALE:
            self._heap = [(end, *key) for key, end in self._ends.items()]
            heapify(self._heap)

    def forget(self, check: str) -> None:
        """Takes out all of a check."""
        self._ends = {key: end for key, end in self._ends.items() if key[0] != check}

    def ended(self, now: float) -> Iterator[tuple[str, str]]:
        """Takes out the checks and partitions of which a grace has ended, a thousand at a time."""
        for _ in range(_MOST):
            if not self._heap or self._heap[0][0] > now:
                return
            end, *key = heappop(self._heap)
            check, partition = key
            if self._ends.get((check, partition)) == end:
                del self._ends[check, partition]
                yield check, partition

    @property
    def next(self) -> float | None:
        """When the next one ends, or one that no longer holds would have."""
        return self._heap[0][0] if self._heap else None
