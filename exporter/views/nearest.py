"""What somebody may have meant by a name that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from heapq import nlargest

__all__ = ["nearest", "shortened"]

_COMPARED = 100  # names
_LONGEST = 253  # characters of a name


def nearest(name: str, known: Iterable[str]) -> str:
    """The one that is most like it; empty where there are none. Of very many only those that begin most like it are
    compared, which takes long for each.
    """
    some = nlargest(_COMPARED, known, key=lambda each: _alike(each, name))
    return next(iter(difflib.get_close_matches(shortened(name), some, 1, cutoff=0)), "")


def shortened(name: str) -> str:
    """As much of it as a name can have."""
    return name[:_LONGEST]


def _alike(one: str, other: str) -> int:
    """The length of what both begin with."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
