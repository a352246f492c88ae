"""Work in turns: what may take long lets the event loop go on, by its slices or by the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TypeVar

__all__ = ["Turn", "in_turns"]

Value = TypeVar("Value")

_SLICE = 0.004  # seconds of evaluation between two looks at the event loop


class Turn:
    """A turn of the engine, by a timer in seconds. A change would have what is in the midst of a partition begin again:
    so each partition has a slice of its own before it pauses, and a small one is done at once.
    """

    __slots__ = ("_partition_ends", "began", "timer")

    def __init__(self, timer: Callable[[], float]) -> None:
        self.timer = timer
        self.began = self._partition_ends = timer()

    def begin(self) -> None:
        self.began = self.timer()

    @property
    def over(self) -> bool:
        """Whether no other partition is begun in this turn."""
        return self.timer() - self.began >= _SLICE

    def begin_partition(self) -> None:
        self._partition_ends = self.timer() + _SLICE

    def pauses(self) -> bool:
        """Whether a partition that has not ended goes on in another turn."""
        return self.timer() >= self._partition_ends


async def in_turns(work: Generator[None, None, Value]) -> Value:
    """What the work returns; after each of its slices others get their turn."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: Value = end.value
            return made
        await asyncio.sleep(0)
