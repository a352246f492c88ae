"""Where the start time of something comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

__all__ = ["UNKNOWN", "Since", "Time"]


class Since(StrEnum):
    FIRST_SEEN = "firstSeen"  # nothing records it; when the steward first saw it
    DELETION = "deletionTimestamp"
    CREATION = "creationTimestamp"
    CONDITION = "condition"
    WRITE = "managedFields"  # when the writer of a field wrote last
    PHASE = "phaseTransition"  # of a migration
    TAINT = "timeAdded"  # of a node's taint
    SOURCE = "source"  # of the steward's own sources


Time: TypeAlias = tuple[float | None, Since]  # seconds since 1970
UNKNOWN: Time = (None, Since.FIRST_SEEN)
