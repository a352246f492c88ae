"""Times as options of commands take them."""

from __future__ import annotations

from datetime import UTC, datetime

from exporter.config.forms import parse_duration


def given(option: str, text: str, now: float) -> float:
    """A time, or how long before `now` it is; in seconds since 1970, as `now` is. Raises ValueError."""
    try:
        return now - parse_duration(text).total_seconds()
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except ValueError as error:
        raise ValueError(f"{option} {text!r} is no time; write it as 7d, or as 2026-07-01T18:00:00Z") from error
