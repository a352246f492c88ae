"""Work in turns: what may take long lets the event loop go on, by its slices or by the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TypeVar

Value = TypeVar("Value")

_SLICE = 0.004  # seconds


class Slice:
    """A slice of work of a few milliseconds, by a timer in seconds, between two looks at the event loop."""

    __slots__ = ("began", "timer")

    def __init__(self, timer: Callable[[], float]) -> None:
        self.timer = timer
        self.began = timer()

    def begin(self) -> None:
        self.began = self.timer()

    @property
    def over(self) -> bool:
        return self.timer() - self.began >= _SLICE

    async def pause(self) -> None:
        """Lets others have their turn; then the next slice begins."""
        await asyncio.sleep(0)
        self.begin()


class Turn(Slice):
    """A turn of the engine. A change would have what is in the midst of a partition begin again: so each partition has
    a slice of its own before it pauses, and a small one is done at once. Once it is over no other partition is begun.
    """

    __slots__ = ("_partition_ends",)

    def __init__(self, timer: Callable[[], float]) -> None:
        super().__init__(timer)
        self._partition_ends = self.began

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
