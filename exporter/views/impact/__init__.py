"""What a change would do, before anybody makes it: whose findings would come, go, or be more or less severe.

Pure: nothing is changed. A change is a value, and the checks themselves are evaluated on the changed cluster.
"""

from __future__ import annotations

from .proposals import READER, NoSuchObjectError, Proposal, deletion, without
from .report import BEFOREHAND, TITLES, Affected, Impact, Outcome, exit_code
from .view import steps, take

__all__ = [
    "BEFOREHAND",
    "READER",
    "TITLES",
    "Affected",
    "Impact",
    "NoSuchObjectError",
    "Outcome",
    "Proposal",
    "deletion",
    "exit_code",
    "steps",
    "take",
    "without",
]
