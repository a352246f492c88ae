"""How many objects a text or a list names: a few, and how many there are beside them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NAMED", "named"]

NAMED = 10  # objects that one list of a finding or report names


def named(things: Sequence[object], count: int | None = None, most: int = 5) -> str:
    """`a, b, c, d, e and 37 more`; `count` is of all, where these are only some."""
    shown = things[:most]
    more = (len(things) if count is None else count) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {more:,} more" if more > 0 else "")
