"""Work that is done in slices, so that others get their turn between two of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

__all__ = ["at_once"]

T = TypeVar("T")


def at_once(work: Generator[None, None, T]) -> T:
    """What the work returns, without a turn for anybody else."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made
