"""What of a ledger is not over: attempts under way."""

from __future__ import annotations

from collections.abc import Iterable

from .entry import Entry, Event

_ENDS = frozenset({Event.DONE, Event.FAILED, Event.RESOLVED})
_OF_ATTEMPT_UNDER_WAY = _ENDS | {Event.UNCLEAR, Event.IN_USE, Event.UNSEEN}
_OF_NO_ATTEMPT = frozenset({Event.PAUSED, Event.RESUMED, Event.ACCEPTED, Event.COUNTED})
_PLANNED = frozenset({Event.INTENDED, Event.SHADOWED})


class OpenItems:
    def __init__(self, unfinished: Iterable[Entry] = ()) -> None:
        self._attempts = {entry.attempt: entry for entry in unfinished}

    def unfinished(self) -> list[Entry]:
        return list(self._attempts.values())

    def allow(self, entry: Entry) -> None:
        """Raises ValueError for an entry that makes no sense after those that were taken."""
        event, attempt = entry.event, entry.attempt
        if event in _PLANNED and entry.plan is None:
            raise ValueError(f"what is {event} needs its plan")
        if event in _OF_ATTEMPT_UNDER_WAY and attempt not in self._attempts:
            raise ValueError(f"{event} of attempt {attempt!r}, which is not under way")
        if event is Event.RESOLVED and entry.happened is None and not entry.why:
            raise ValueError(f"attempt {attempt} is only resolved by whether it happened, or why that is not known")
        if event not in _OF_NO_ATTEMPT and not attempt:
            raise ValueError(f"{event} is of an attempt; name it")

    def take(self, entry: Entry) -> None:
        if entry.event is Event.INTENDED:
            self._attempts[entry.attempt] = entry
        elif entry.event in _ENDS:
            self._attempts.pop(entry.attempt, None)
