"""How many series the steward exports at most."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SeriesLimit"]


@dataclass(frozen=True)
class SeriesLimit:
    """Series of one family, and of all together: for findings, and as many again for states."""

    family: int = 50_000
    total: int = 200_000
