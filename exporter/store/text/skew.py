"""How far apart clocks are."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SKEW = 30.0
"""Seconds that two clocks may be apart: no age, window or approval depends on so little."""


@dataclass(frozen=True)
class Skew:
    """All in seconds. `ahead` is how far our clock is ahead of the API server's that is the farthest away, negative
    where it is behind; `spread` how far the clocks of the API servers are apart. `host` is where our clock is.
    """

    ahead: float
    spread: float
    host: str

    @property
    def agree(self) -> bool:
        """Whether all clocks do."""
        return abs(self.ahead) <= MOST_SKEW and self.spread <= MOST_SKEW  # nan is not
