"""A storm: so many new findings at once that their cause is not in the objects, and repairing them would spread it.

normal ─(many)─> storm ─(few)─> cooldown ─(time)─> normal

A namespace has one, and so has the fleet. One that lasts for `storm.longest`, or that a person takes for what it is,
ends without a cooldown: what is left of it is a backlog then (`storms.py`).
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import NamedTuple

import msgspec

from ..config.settings import StormSettings


class StormState(StrEnum):
    NORMAL = "normal"
    STORM = "storm"
    COOLDOWN = "cooldown"


class Rise(NamedTuple):
    """How many findings are new, how many are a storm, and a clause that names both."""

    findings: int
    least: int
    what: str


_NUMBER = r"([0-9]{1,12})"
_CODED = re.compile(rf"normal|storm from {_NUMBER}|cooldown from {_NUMBER} until {_NUMBER}")


class Storm(msgspec.Struct, frozen=True):
    """The state, and from when and until when in seconds since 1970, as far as it says. `why` names the numbers."""

    state: StormState = StormState.NORMAL
    since: float = 0.0
    until: float | None = None
    why: str = ""

    def next(self, rise: Rise | None, now: float, settings: StormSettings) -> Storm:
        """The state after a look. None is what could not be seen: a storm lasts, and a cooldown begins anew."""
        cooldown = settings.cooldown.total_seconds()
        if rise is None:
            if self.state is StormState.COOLDOWN:
                return msgspec.structs.replace(self, until=now + cooldown)
            return self
        if rise.findings >= rise.least:
            since = min(self.since or now, now) if self.state is StormState.STORM else now
            return Storm(StormState.STORM, since, None, f"{rise.what}; {rise.least} are a storm")
        if self.state is StormState.STORM:
            return Storm(
                StormState.COOLDOWN, now, now + cooldown, f"a storm ended: {rise.what}; {rise.least} would be one"
            )
        if self.state is StormState.COOLDOWN:
            until = min(self.until if self.until is not None else now, now + cooldown)  # whatever the clock did
            return msgspec.structs.replace(self, until=until) if until > now else Storm()
        return self

    def encode(self) -> str:
        """For the Lease: what the next holder goes on with."""
        if self.state is StormState.STORM:
            return f"storm from {max(0, int(self.since))}"
        if self.state is StormState.COOLDOWN:
            return f"cooldown from {max(0, int(self.since))} until {max(0, math.ceil(self.until or 0))}"
        return "normal"

    @classmethod
    def decode(cls, text: str | None) -> Storm:
        """Without any text it is normal; what can't be read counts as a storm, which ends with the next look."""
        if not text:
            return cls()
        found = _CODED.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return cls(StormState.STORM, 0.0, None, "the storm that the last holder left in the Lease can't be read")
        if found[1]:
            return cls(StormState.STORM, float(found[1]), None, "a storm was active when the Lease changed hands")
        if found[2]:
            return cls(
                StormState.COOLDOWN, float(found[2]), float(found[3]), "a storm ended before the Lease changed hands"
            )
        return cls()
