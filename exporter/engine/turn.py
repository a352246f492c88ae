"""Work in turns: what may take long lets the event loop go on, by its slices or by the clock."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeAlias, TypeVar

from ..findings.finding import Finding

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


# Differences of findings on their way to those who listen: a partition may find thousands at once, and each of them
# costs every listener a little.

_Slice: TypeAlias = tuple[tuple[Finding, ...], tuple[Finding, ...]]
"""What is gone and what has come; a changed finding is in both."""

_MOST = 250  # fingerprints between two looks at the event loop: a few milliseconds of all listeners


class Outgoing:
    def __init__(self) -> None:
        self._slices: deque[_Slice] = deque()

    def __bool__(self) -> bool:
        """Whether there is a slice that was not taken."""
        return bool(self._slices)

    def add(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        """Takes in a batch. What there is of one fingerprint stays in one slice: else what has changed would be closed
        in one and opened in another.
        """
        gone, come = tuple(gone), tuple(come)
        if len(gone) + len(come) <= _MOST:
            if gone or come:
                self._slices.append((gone, come))
            return
        slice_of: dict[str, int] = {}
        for finding in (*gone, *come):
            slice_of.setdefault(finding.fingerprint, len(slice_of) // _MOST)
        slices: list[tuple[list[Finding], list[Finding]]] = [([], []) for _ in range(-(-len(slice_of) // _MOST))]
        for side, findings in enumerate((gone, come)):
            for finding in findings:
                slices[slice_of[finding.fingerprint]][side].append(finding)
        self._slices += ((tuple(gone), tuple(come)) for gone, come in slices)

    def take(self) -> _Slice:
        """The next slice, in the order in which they came; empty where there is none."""
        return self._slices.popleft() if self._slices else ((), ())
