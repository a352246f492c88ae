"""How well a reflector sees its kind: the sync state that it reports, and what it counts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from ...engine.intake import Intake
from ...store.kind import ApiKind
from ...store.source import SyncState
from ..client import Timeouts


@dataclass(slots=True)
class Stats:
    """Counters of a reflector; times in seconds since 1970, 0 for never."""

    events: int = 0
    relists: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    last_event: float = 0.0
    last_bookmark: float = 0.0
    last_connect: float = 0.0
    current: float = 0.0  # up to when what we hold is known to be what the API server had
    disconnected: float | None = None  # on the timer, since when; None while connected

    def count(self, error: str) -> None:
        self.errors[error] = self.errors.get(error, 0) + 1


class KindSync:
    def __init__(self, kind: ApiKind[Any], intake: Intake, pace: Timeouts) -> None:
        self._kind, self._intake, self._pace = kind, intake, pace
        self.stats = Stats()
        self.synced = False  # whether the kind was ever listed
        self.sync_state = SyncState.STARTING
        self.set(SyncState.STARTING, f"{kind.resource} has not been listed yet")

    def set(self, sync_state: SyncState, why: str = "") -> None:
        self.sync_state = sync_state
        self._intake.sync_state(self._kind, sync_state, why)

    def listed(self, took: float) -> None:
        """A list is complete; it shows the kind as of `took` seconds ago."""
        self.stats.relists += self.synced
        self.stats.last_event = time.time()
        self.stats.current = self.stats.last_event - took
        self.synced = True

    def connected(self) -> None:
        self.stats.last_connect = self.stats.current = time.time()
        self.stats.disconnected = None
        self.set(SyncState.LIVE)

    def event(self, *, bookmark: bool) -> None:
        now = time.time()
        if self.sync_state is SyncState.LIVE:  # before, it may be an event that we missed
            self.stats.current = now
        if bookmark:
            self.stats.last_bookmark = now
            return
        self.stats.events += 1
        self.stats.last_event = now

    def disconnected(self, why: str) -> None:
        self._lost()
        if self.synced and self.sync_state is not SyncState.STALE:
            self.set(SyncState.BEHIND, why)
            self.age()

    def outdated(self, why: str) -> None:
        """What is held is known not to be what the API server has."""
        self._lost()
        if self.synced:
            self.set(SyncState.STALE, why)

    def failed(self, why: str) -> None:
        if self.synced:
            self.disconnected(why)
        else:
            self.set(SyncState.FAILING, why)

    def unavailable(self, sync_state: SyncState, why: str) -> None:
        self._lost()
        self.set(sync_state, why)

    def age(self) -> None:
        """Without a connection for too long, what we hold is stale."""
        since = self.stats.disconnected
        if (
            self.sync_state is SyncState.BEHIND
            and since is not None
            and time.monotonic() - since > self._pace.stale_after
        ):
            self.set(SyncState.STALE, f"no connection for {self._kind.resource} for {self._pace.stale_after:.0f} s")

    def _lost(self) -> None:
        if self.stats.disconnected is None:
            self.stats.disconnected = time.monotonic()


# Whether an API server that sends bookmarks has fallen silent about a kind.


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
