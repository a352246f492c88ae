"""Keys in their order, of which the first are asked for at any time.

They are kept in blocks of bounded length, so that a key comes and goes at the same cost among ten as among 100,000, and
nothing is ever put in order again as a whole.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Generic, TypeVar

_LONGEST = 512  # keys of a block
K = TypeVar("K", bound=Any)


class SortedKeys(Generic[K]):
    """Each key once. `add` and `remove` are for who knows whether a key is there."""

    __slots__ = ("_blocks", "_lasts")

    def __init__(self) -> None:
        self._blocks: list[list[K]] = []  # none is empty
        self._lasts: list[K] = []  # the last key of each block

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._blocks)

    def first(self, count: int) -> list[K]:
        """As many of the lowest as there are, up to `count`."""
        return list(islice(self, count))

    def below(self, key: K) -> int:
        """How many are lower, at the cost of a look at each block."""
        at = bisect_left(self._lasts, key)
        return sum(map(len, self._blocks[:at])) + (bisect_left(self._blocks[at], key) if at < len(self._blocks) else 0)

    def add(self, key: K) -> None:
        if not self._blocks:
            self._blocks.append([key])
            self._lasts.append(key)
            return
        at = min(bisect_left(self._lasts, key), len(self._blocks) - 1)
        block = self._blocks[at]
        insort(block, key)
        if len(block) > _LONGEST:
            half = _LONGEST // 2
            self._blocks.insert(at + 1, block[half:])
            self._lasts.insert(at + 1, block[-1])
            del block[half:]
        self._lasts[at] = block[-1]

    def remove(self, key: K) -> None:
        at = bisect_left(self._lasts, key)
        block = self._blocks[at]
        del block[bisect_left(block, key)]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]
