"""Times as users get them."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float | None) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, to the second; empty for none."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
