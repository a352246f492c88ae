"""How long a lease is surely ours, by a clock that nobody sets and that goes on while the computer sleeps."""

from __future__ import annotations

from collections.abc import Callable


class NotLeadingError(Exception):
    """The lease is not surely ours for as long as was asked; its text is why, one sentence."""


class WithheldError(NotLeadingError):
    """The lease may be ours, and must not: what travels with it does not fit; its text is why, one sentence."""


class Tenure:
    """The time that a successful write of the lease gives us, counted from before it was sent.

    Whoever takes the lease over saw that very write at the earliest after it was sent, and waits for `duration` from
    then. All in seconds; `margin` is for clocks that don't run at the same speed.
    """

    def __init__(self, duration: float, margin: float, clock: Callable[[], float]) -> None:
        self._seconds, self._clock = duration - margin, clock
        self._sent: float | None = None

    @property
    def left(self) -> float:
        """Seconds for which the lease is surely ours from now on; 0 where it may be somebody else's."""
        return 0.0 if self._sent is None else max(0.0, self._sent + self._seconds - self._clock())

    @property
    def age(self) -> float:
        """Seconds since the last write that succeeded was sent; infinite without one."""
        return float("inf") if self._sent is None else self._clock() - self._sent

    def renewed(self, sent: float) -> None:
        """A write that was sent at this time succeeded."""
        self._sent = sent if self._sent is None else max(sent, self._sent)

    def lost(self) -> None:
        self._sent = None
