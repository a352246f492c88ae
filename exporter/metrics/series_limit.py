"""How many series the steward exports at most."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SeriesLimit:
    """Series of one family, and of all together: for findings, and as many again for states.

    `group` is for what a state says of one object: whoever makes it decides how much that is.
    """

    family: int = 50_000
    total: int = 200_000
    group: int = 1_000
