"""How many objects a text or a list names: a few, and how many there are beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["NAMED", "named"]

NAMED = 10  # objects that one list of a finding or report names


def named(things: Iterable[object], most: int = 5) -> str:
    """`a, b, c, d, e and 37 more`."""
    found: Sequence[object] = things if isinstance(things, Sequence) else tuple(things)
    more = len(found) - most
    return ", ".join(map(str, found[:most])) + (f" and {more:,} more" if more > 0 else "")
