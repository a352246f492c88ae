"""What every command that answers ends with."""

from __future__ import annotations


def exit_code(*, found: bool = False, unknown: bool) -> int:
    """0 where nothing is found, 1 where something is. `unknown` gives 2, which goes before both: not all that was asked
    about was seen, so there may be more than was found, and what was not seen may not be fine.
    """
    return 2 if unknown else int(found)
