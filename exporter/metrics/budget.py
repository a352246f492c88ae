"""How many series may be there."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """Series of one family, and of all together: for findings, and as many again for states."""

    family: int = 50_000
    total: int = 200_000
