"""Times as users get them."""

from __future__ import annotations

from datetime import UTC, datetime

from ..engine.causes import HOUR
from ..facts.times import Since


def rfc3339(seconds: float | None) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, to the second; empty for none."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# How old something is, as users read it, and how that is known.

_UNITS = (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1))
_WHOLE = 3  # of the larger unit: from then on the smaller one tells nothing

_ORIGINS = {
    Since.FIRST_SEEN: "No object records it: the steward saw it then for the first time, and it may be older.",
    Since.DELETION: "From the deletionTimestamp of the object.",
    Since.CREATION: "From the creationTimestamp of the object.",
    Since.CONDITION: "From the lastTransitionTime of a condition of the object.",
    Since.WRITE: "From the managedFields of the object: when the writer of the field wrote last.",
    Since.PHASE: "From the phaseTransitionTimestamps of the migration.",
    Since.TAINT: "From timeAdded of the node's taint.",
    Since.START: "From startedAt of the pod's container.",
    Since.SOURCE: "From the steward's own watch of the kind.",
}


def duration(seconds: float) -> str:
    """In its largest unit, and the next one while the first is small, as `kubectl get` has it: 3d, 2h15m, 40s."""
    whole = max(0, int(seconds))
    for unit, size, small, part in _UNITS:
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size}{unit}{rest}{small}" if rest and whole < _WHOLE * size else f"{whole // size}{unit}"
    return f"{whole}s"


def age(now: float, since: str, source: str = "") -> str:
    """Of an RFC 3339 time, `now` in seconds since 1970: `3d`, `≥ 2m` where it was first seen then, `-` where
    that is not known.
    """
    if not since:
        return "-"
    seconds = now - datetime.fromisoformat(since).timestamp()
    if source == Since.FIRST_SEEN:  # at the moment of the look nobody is a witness of anything before
        return f"≥ {duration(seconds)}" if seconds >= 1 else "-"
    return duration(seconds)


def origin(source: str) -> str:
    """By what a time is known, in a sentence; empty for no source that there is."""
    return _ORIGINS.get(Since(source), "") if source in set(Since) else ""


def lately_said(opened: int, closed: int, since: str, now: float) -> str:
    """What changed in the last hour: `3 opened, 1 closed in the last hour`. It claims no more than was watched: from
    `since` on (RFC 3339); `now` is in seconds since 1970.
    """
    watched = now - datetime.fromisoformat(since).timestamp()
    span = "in the last hour" if watched >= HOUR else f"since the steward began to count {duration(watched)} ago"
    each = ((opened, "opened"), (closed, "closed"))
    return f"{', '.join(f'{number:,} {what}' for number, what in each if number) or 'no change'} {span}"
