"""How far an instancetype or preference has drifted from the copy that a VM has of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...store.text.naming import shortened
from ...store.text.quantity import amount
from ...store.text.text_cache import remembered
from . import specs

_MAPS = ("nodeSelector", "annotations")  # where an empty one, unlike a missing one, conflicts, and a copy has neither
_QUANTITIES = ("memory.guest", "memory.maxGuest", "memory.hugepages.pageSize", "requirements.memory.guest")
LONGEST_PATH = 120  # characters
MOST_PATHS = 100


@remembered()
def differing(before: str, after: str) -> tuple[str, ...]:
    """The paths of the fields that differ between two canonical specs, in order; memory is compared as an amount.

    Of very many the first ones, one more than MOST_PATHS.
    """
    if before == after:
        return ()
    return tuple(islice(_differing(specs.tree(before), specs.tree(after), ""), MOST_PATHS + 1))


def _differing(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict | type(None)) and isinstance(after, dict | type(None)) and (before or after):
        old, new = before or {}, after or {}
        for key in sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)):
            below = f"{path}.{key}" if path else key
            yield from _differing(old.get(key), new.get(key), shortened(below, LONGEST_PATH))
    elif path in _MAPS and not before and not after:
        return
    elif before != after and not (path in _QUANTITIES and _equal(before, after)):
        yield path


def _equal(before: Any, after: Any) -> bool:
    try:
        return before is not None and after is not None and amount(before) == amount(after)
    except (ValueError, TypeError):
        return False
