"""What the history carries from file to file."""

from __future__ import annotations

import msgspec

from .attempts import Attempt, Pause, Return
from .trials import Canary


class Known(msgspec.Struct, frozen=True):
    """The attempts of the last day that count are named; `shadowed` are those of the last day that wrote nothing."""

    keep: float
    seq: int
    attempts: list[Attempt]
    executed: list[str]
    followed: list[str]
    failed: dict[str, dict[str, float]]
    returned: dict[str, list[Return]]
    paused: dict[str, Pause]
    approvals: dict[str, float]
    unfinished: list[str] = []
    in_use: dict[str, float] = {}
    returns: int = 1
    shadowed: list[Attempt] = []
    canaries: dict[str, Canary] = {}
    unseen: dict[str, float] = {}
    since: float = 0.0
