"""What opened and closed lately, in words: of each span that was watched whole, and since the start."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ..engine.cause_history import DAY, HOUR, WEEK, Changes, Count
from .ages import duration


def spans(changes: Changes, since: str, now: float) -> Iterator[tuple[str, Count]]:
    """Each span with what changed in it, the shortest first. The last one ends at `since` (RFC 3339), if the steward
    has not watched for so long; `now` is in seconds since 1970.
    """
    watched = now - datetime.fromisoformat(since).timestamp()
    every = ((HOUR, "in the last hour", changes.hour), (DAY, "in the last day", changes.day))
    for length, name, count in (*every, (WEEK, "in the last week", changes.week)):
        if watched < length:
            yield f"since the steward began to count {duration(watched)} ago", count
            return
        yield name, count


def counted_said(count: Count) -> str:
    """`3 opened, 1 closed`."""
    each = ((count.opened, "opened"), (count.closed, "closed"))
    return ", ".join(f"{number:,} {what}" for number, what in each if number) or "no change"


def changes_said(changes: Changes, since: str, now: float) -> str:
    """All spans, on one line; those between which nothing happened as one."""
    said: list[str] = []
    before = None
    for name, count in reversed(list(spans(changes, since, now))):
        if count != before:
            said.append(f"{counted_said(count)} {name}")
        before = count
    return "; ".join(reversed(said))


def latest(changes: Changes, since: str, now: float) -> str:
    """The shortest span in which anything changed: `3 opened, 1 closed in the last hour`; empty where nothing did."""
    for name, count in spans(changes, since, now):
        if count.opened or count.closed:
            return f"{counted_said(count)} {name}"
    return ""
