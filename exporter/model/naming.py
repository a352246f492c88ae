"""How many objects a text or a list names: a few, and how many there are beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["NAMED", "listed", "named", "shortened"]

NAMED = 10  # objects that one list of a finding or report names
LONGEST = 253  # characters of a name


def named(things: Sequence[object], count: int | None = None, most: int = 5) -> str:
    """`a, b, c, d, e and 37 more`; `count` is of all, where these are only some."""
    shown = things[:most]
    more = (len(things) if count is None else count) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {more:,} more" if more > 0 else "")


def listed(key: str, things: Sequence[object]) -> dict[str, Any]:
    """Evidence of a list that may be long: the first of it, and how many there are where that is not all."""
    more = {f"{key}InAll": len(things)} if len(things) > NAMED else {}
    return {key: list(things[:NAMED]), **more}


def shortened(text: str, most: int = LONGEST) -> str:
    """Text in which the API server takes more than a name can have; what is cut off makes it the name of nothing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
