"""How long something has been so, as kubectl writes ages, and no more exactly than it is known.

`3d` where an object says since when; `≥ 2m` where a steward first saw it then; `-` where nothing says: a single look
saw it for the first time.
"""

from __future__ import annotations

from datetime import datetime

from ....store.text.since import Since

# From how many seconds on: the unit, and the smaller one that is added until how many of the larger ones.
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
SEEN = (Since.FIRST_SEEN.value, Since.SOURCE.value)  # what the steward was witness of, and no object says


def age(since: str, source: str, now: float) -> str:
    """`since` is RFC 3339, empty where it is not known; `source` says who says so."""
    if not since:
        return "-"
    seconds = max(0.0, now - datetime.fromisoformat(since).timestamp())
    return f"{'≥ ' if source in SEEN else ''}{duration(seconds)}"


def duration(seconds: float) -> str:
    """As `kubectl get` shows it: 90s, 5m30s, 47m, 5h10m, 30h, 5d3h, 300d, 3y10d."""
    whole = int(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 3 * _HOUR:
        return _two(whole, _MINUTE, "m", 1, "s", 10)
    if whole < 2 * _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "m", 8)
    if whole < 2 * _YEAR:
        return _two(whole, _DAY, "d", _HOUR, "h", 8)
    return _two(whole, _YEAR, "y", _DAY, "d", 8)


def _two(whole: int, large: int, unit: str, small: int, lesser: str, until: int) -> str:
    """The lesser unit is left out from `until` of the larger one on, and where there is none of it."""
    count, rest = divmod(whole, large)
    more = rest // small if count < until else 0
    return f"{count}{unit}{f'{more}{lesser}' if more else ''}"
