"""How much of a ledger is kept. Whole files go, the oldest first."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from pathlib import Path

import msgspec

from .shelf import Shelf


class Retention(msgspec.Struct, frozen=True):
    """`max_age` is in seconds, `max_size` in bytes; None is without end."""

    max_age: float | None = None
    max_size: int | None = None

    def oldest(self, shelf: Shelf, newest: int, now: float) -> int:
        """The number of the oldest file to keep; of those from `newest` on all are kept.

        A file is too old when its last entry is.
        """
        rest = list(shelf.firsts.items())
        size = sum(_size(first.path) for _, first in rest)
        for (number, first), (_, after) in pairwise(rest):
            old = self.max_age is not None and after.at < now - self.max_age
            large = self.max_size is not None and size > self.max_size
            if number >= newest or not (old or large):
                return number
            size -= _size(first.path)
        return rest[-1][0] if rest else 0


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
