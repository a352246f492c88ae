"""Where the start time of something comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Since(StrEnum):
    FIRST_SEEN = "firstSeen"  # nothing records it; when the steward first saw it
    DELETION = "deletionTimestamp"
    CREATION = "creationTimestamp"
    CONDITION = "condition"
    WRITE = "managedFields"  # when the writer of a field wrote last
    PHASE = "phaseTransition"  # of a migration
    TAINT = "timeAdded"  # of a node's taint
    START = "startedAt"  # of a pod's container
    SOURCE = "source"  # of the steward's own sources


# Seconds since 1970; beside FIRST_SEEN the earliest that it can be, where that is known.
Time: TypeAlias = tuple[float | None, Since]
UNKNOWN: Time = (None, Since.FIRST_SEEN)


# How far apart clocks are.

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
