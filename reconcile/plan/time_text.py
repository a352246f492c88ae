"""How a moment is written in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at: float) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, to the second; what no calendar has as a number."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f} s after 1970"
