"""Durations as Go writes them, in specs of Kubernetes: `5m0s`, `1h30m`, `1.5h`."""

from __future__ import annotations

import re

_PART = re.compile("([0-9.]{1,24})([a-zµ]{1,2})")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 64  # characters; Go writes fewer


def go_seconds(text: str | None) -> float | None:
    """Seconds; None for what is no duration, and for a negative one."""
    if not text or len(text) > _LONGEST:
        return None
    if text == "0":
        return 0.0
    parts = list(_PART.finditer(text))
    if "".join(each[0] for each in parts) != text:
        return None
    try:
        return sum(float(number) * _SECONDS[unit] for number, unit in (each.groups() for each in parts))
    except (ValueError, KeyError):
        return None
