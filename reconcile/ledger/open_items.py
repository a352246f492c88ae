"""What of a ledger is not over: attempts under way, and pauses in force."""

from __future__ import annotations

from .entry import Entry, Event

__all__ = ["OpenItems"]

_ENDS = frozenset({Event.DONE, Event.FAILED, Event.RESOLVED})
_OF_ATTEMPT_UNDER_WAY = _ENDS | {Event.UNCLEAR, Event.IN_USE}
_OF_PAUSES = frozenset({Event.PAUSED, Event.RESUMED})


class OpenItems:
    def __init__(self) -> None:
        self._attempts: dict[str, tuple[Entry, int]] = {}
        self._pauses: dict[str, int] = {}

    def unfinished(self) -> list[Entry]:
        return [entry for entry, _ in self._attempts.values()]

    @property
    def oldest_file(self) -> int | None:
        """The number of the oldest file with something that is not over."""
        return min((*(number for _, number in self._attempts.values()), *self._pauses.values()), default=None)

    def allow(self, entry: Entry) -> None:
        """Raises ValueError for an entry that makes no sense after those that were taken."""
        event, attempt = entry.event, entry.attempt
        if event is Event.INTENDED and entry.plan is None:
            raise ValueError("what is intended needs its plan")
        if event in _OF_ATTEMPT_UNDER_WAY and attempt not in self._attempts:
            raise ValueError(f"{event} of attempt {attempt!r}, which is not under way")
        if event is Event.RESOLVED and entry.happened is None:
            raise ValueError(f"attempt {attempt} is only resolved by whether it happened")
        if event not in _OF_PAUSES and not attempt:
            raise ValueError(f"{event} is of an attempt; name it")

    def take(self, entry: Entry, file: int) -> None:
        """`file` is the number of the file that has the entry."""
        if entry.event is Event.INTENDED:
            self._attempts[entry.attempt] = (entry, file)
        elif entry.event in _ENDS:
            self._attempts.pop(entry.attempt, None)
        elif entry.event is Event.PAUSED:
            self._pauses.setdefault(entry.scope, file)
        elif entry.event is Event.RESUMED:
            self._pauses.pop(entry.scope, None)
