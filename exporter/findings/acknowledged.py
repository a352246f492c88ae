"""Causes that somebody knows of: until when, why, and how bad they may be meanwhile.

An acknowledged cause is shown as such and stays open. It counts as any other again at its time, and at once when it is
worse than what was acknowledged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from .severity import Severity

DAY_OR_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?"


class Acknowledgement(msgspec.Struct, frozen=True):
    """`until` is in seconds since 1970, `severity` the worst that is acknowledged."""

    cause: str
    until: float
    because: str
    by: str = ""
    severity: Severity = Severity.WARNING

    def covers(self, severity: Severity) -> bool:
        return severity.rank <= self.severity.rank


class Acknowledgements:
    """At most one of each cause."""

    def __init__(self, every: Iterable[Acknowledgement] = ()) -> None:
        self._of = {each.cause: each for each in every}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Acknowledgements) and self._of == other._of

    __hash__ = None  # type: ignore[assignment]

    @property
    def all(self) -> tuple[Acknowledgement, ...]:
        """Those whose time is over among them."""
        return tuple(self._of.values())

    def holding(self, now: float) -> tuple[Acknowledgement, ...]:
        """Those whose time is not over; `now` is in seconds since 1970."""
        return tuple(each for each in self._of.values() if now < each.until)

    def of(self, cause: str, severity: Severity, now: float) -> Acknowledgement | None:
        """By which a cause of this severity is acknowledged."""
        found = self._of.get(cause)
        return found if found is not None and now < found.until and found.covers(severity) else None


def moment_of(text: str) -> float:
    """Of a date, its beginning in UTC, or of a time with its zone, in seconds since 1970. Raises ValueError."""
    if re.fullmatch(DAY_OR_MOMENT, text):
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    shown = text[:60] if text.isprintable() else "the text"
    raise ValueError(f'"{shown}" is no date or time; write it as 2026-12-01, or as 2026-12-01T08:00:00Z')
