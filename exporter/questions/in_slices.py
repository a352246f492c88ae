"""Work that is done in slices, so that others get their turn between two of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

_SLICE = 500  # things between two turns

T = TypeVar("T")


def at_once(work: Generator[None, None, T]) -> T:
    """What the work returns, without a turn for anybody else."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made


def in_order(things: Sequence[T], key: Callable[[T], Any]) -> Generator[None, None, list[T]]:
    """All of them, sorted."""
    runs: list[list[T]] = []
    for start in range(0, len(things), _SLICE):
        runs.append(sorted(things[start : start + _SLICE], key=key))
        yield
    found: list[T] = []
    ordered = merge(*runs, key=key)
    while run := list(islice(ordered, _SLICE)):
        found += run
        yield
    return found
