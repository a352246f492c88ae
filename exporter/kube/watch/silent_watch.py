"""Whether an API server that sends bookmarks has fallen silent about a kind."""

from __future__ import annotations

import time


class WatchSilence:
    """How long nothing has come on the watches of a kind, from one to the next.

    An API server whose etcd was restored from a backup accepts a watch from a resourceVersion that is yet to come, and
    sends nothing on it: no bookmark either, of which one comes about once a minute otherwise. Only an API server whose
    bookmarks go ahead without events is taken to be silent: on an etcd that does not notify it of progress it has none
    to send for a kind without changes. Each silence that is suspected doubles the next one.
    """

    def __init__(self, longest: float) -> None:
        """`longest` is in seconds; more than that without a word is suspicious."""
        self.longest = longest
        self._expected = False
        self._before = 0.0  # seconds without a word on watches that have ended
        self._since: float | None = None  # monotonic; None between two watches

    @property
    def left(self) -> float:
        """Seconds until the silence is suspicious; 0 if it is."""
        if not self._expected:
            return self.longest
        return max(0.0, self.longest - self._before - self._now())

    @property
    def suspicious(self) -> bool:
        return self.left == 0

    def watch_begins(self) -> None:
        self._since = time.monotonic()

    def watch_ends(self) -> None:
        self._before += self._now()
        self._since = None

    def heard(self, *, ahead: bool = False) -> None:
        """Something came; `ahead` if it was a bookmark that is newer than what came before."""
        self._expected = self._expected or ahead
        self._before = 0.0
        if self._since is not None:
            self._since = time.monotonic()

    def suspected(self) -> None:
        """What was silent is listed again. Nothing is suspected until another bookmark has gone ahead."""
        self._expected = False
        self._before = 0.0
        self.longest *= 2

    def _now(self) -> float:
        return 0.0 if self._since is None else time.monotonic() - self._since
