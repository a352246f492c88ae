"""Where the start time of something comes from."""

from __future__ import annotations

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
