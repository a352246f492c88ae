"""A storm: so many findings at once that their cause is not in the objects, and repairing them would spread it.

normal ─(many)─> storm ─(few)─> cooldown ─(time)─> normal
"""

from __future__ import annotations

import math
import re
from enum import StrEnum

import msgspec

from .config import StormSettings

__all__ = ["Storm", "Weather"]


class Weather(StrEnum):
    NORMAL = "normal"
    STORM = "storm"
    COOLDOWN = "cooldown"


_NUMBER = r"([0-9]{1,12})"
_CODED = re.compile(rf"normal|storm from {_NUMBER}|cooldown from {_NUMBER} until {_NUMBER}")


class Storm(msgspec.Struct, frozen=True):
    """The state, and from when and until when in seconds since 1970, as far as it says. `why` names the numbers."""

    weather: Weather = Weather.NORMAL
    since: float = 0.0
    until: float | None = None
    why: str = ""

    def next(self, findings: int | None, fleet: int | None, now: float, settings: StormSettings) -> Storm:
        """The state after a look: the number of findings that there is a remediation for, and of VMs.

        None is what could not be seen. Without the fleet's size `atLeast` findings are a storm; without the findings'
        number a storm lasts, and a cooldown begins anew.
        """
        cooldown = settings.cooldown.total_seconds()
        if findings is None:
            if self.weather is Weather.COOLDOWN:
                return msgspec.structs.replace(self, until=now + cooldown)
            return self
        least = max(settings.at_least, math.ceil(settings.share * (fleet or 0)))
        if findings >= least:
            since = self.since if self.weather is Weather.STORM else now
            size = "a fleet of unknown size" if fleet is None else f"{fleet} VMs"
            return Storm(Weather.STORM, since, None, f"{findings} findings are open in {size}; {least} are a storm")
        if self.weather is Weather.STORM:
            why = f"a storm ended: {findings} findings are open, {least} would be one"
            return Storm(Weather.COOLDOWN, now, now + cooldown, why)
        if self.weather is Weather.COOLDOWN:
            until = min(self.until if self.until is not None else now, now + cooldown)  # whatever the clock did
            return msgspec.structs.replace(self, until=until) if until > now else Storm()
        return self

    def encode(self) -> str:
        """For the Lease: what the next holder goes on with."""
        if self.weather is Weather.STORM:
            return f"storm from {max(0, int(self.since))}"
        if self.weather is Weather.COOLDOWN:
            return f"cooldown from {max(0, int(self.since))} until {max(0, math.ceil(self.until or 0))}"
        return "normal"

    @classmethod
    def decode(cls, text: str | None) -> Storm:
        """Without any text it is normal; what can't be read counts as a storm, which ends with the next look."""
        if not text:
            return cls()
        found = _CODED.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return cls(Weather.STORM, 0.0, None, "what the last holder of the Lease left of it can't be read")
        if found[1]:
            return cls(Weather.STORM, float(found[1]), None, "a storm was on when the Lease changed hands")
        if found[2]:
            return cls(
                Weather.COOLDOWN, float(found[2]), float(found[3]), "a storm ended before the Lease changed hands"
            )
        return cls()
