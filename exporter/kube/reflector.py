"""Reflector: keeps what we hold of one kind equal to the API server.

List, hand the whole over, then watch from the list's resourceVersion. Where the server offers streaming lists, list and
watch are one stream. What we hold is never emptied in between: until a new list is complete, the old content stays.

Goes on from the last event or bookmark: the server's timeout, a broken connection, a watch that outlives its own
timeout (a frozen connection). Lists again: 410 Gone, an ERROR event, a resourceVersion that the server does not know, a
line that can't be read, events that go back in time. Looks again which version is served: 404, 403. Gives up for good:
never, since rights can be granted and CRDs installed while we run. Waits between tries grow to half a minute until a
watch lasts, and a shorter Retry-After is kept.

Not done here: evaluating what is seen. A watch from which the server withholds events is not noticed before it ends.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass, field
from typing import Any

from ..engine.intake import Intake
from ..model.kind import ApiKind
from ..model.source import SyncState
from .client import Client
from .decode import Decoder, Event, Seen
from .errors import AbsentError, ConfigError, GarbledError, KubeError, StatusError, UnreachableError
from .pace import Pace

__all__ = ["Pace", "Reflector", "Stats"]

log = logging.getLogger(__name__)
_LASTING = 1.0  # seconds; a watch that ends sooner is no sign that all is well again


@dataclass(slots=True)
class Stats:
    """What a reflector has seen so far; times in seconds since 1970, 0 for never."""

    events: int = 0
    relists: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    last_event: float = 0.0
    last_bookmark: float = 0.0
    last_connect: float = 0.0
    disconnected: float | None = None  # on the timer, since when; None while connected


class Reflector:
    def __init__(self, kind: ApiKind[Any], client: Client, intake: Intake, pace: Pace) -> None:
        self.kind = kind
        self.stats = Stats()
        self.synced = False
        self.sync_state = SyncState.STARTING
        self._client, self._intake, self._pace = client, intake, pace
        self._decoder = Decoder(kind)
        self._served: str | None = None  # the API version, once asked
        self._version: str | None = None  # the resourceVersion to go on from; None: list first
        self._streams = True  # whether to ask for a streaming list; where that failed, pages come next
        self._failures = 0
        self._following: float | None = None  # on the timer, since when the watch goes
        self._report(SyncState.STARTING, f"{kind.resource} has not been listed yet")

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                await self._once()
            except KubeError as error:
                await self._failed(error)

    async def _once(self) -> None:
        if self._served is None:
            self._served = await self._client.served_version(self.kind)
        if self._version is None and self._streams:
            await self._follow(self._served, None)
            return
        if self._version is None:
            await self._list(self._served)
        await self._follow(self._served, self._version)

    # -- list

    async def _list(self, served: str) -> None:
        started = time.monotonic()
        seen: list[Seen] = []
        rest, version = "", ""
        limit: int | None = None
        while True:
            try:
                page = self._decoder.page(await self._client.page(self.kind, served, rest, limit))
            except StatusError as error:
                if error.code != 410 or not rest:
                    raise
                # The snapshot behind the pages expired; once more, all in one piece.
                seen, rest, limit = [], "", 0
                continue
            seen += page.seen
            rest, version = page.rest, page.version
            if not rest:
                break
        await self._listed(seen, version, started)

    async def _listed(self, seen: list[Seen], version: str, started: float) -> None:
        if not version:
            raise GarbledError("the answer is no list: it has no resourceVersion")  # and not an empty one
        await self._intake.swap(self.kind, seen)
        self.stats.relists += self.synced
        self.stats.last_event = time.time()
        self.synced = self._streams = True
        self._version = version
        log.info('event="listed" kind=%s objects=%d took=%.3f', self.kind.name, len(seen), time.monotonic() - started)

    # -- watch

    async def _follow(self, served: str, since: str | None) -> None:
        """One watch, until it ends; a streaming list first where `since` is None."""
        seconds = self._pace.watch * (random.uniform(8 / 9, 10 / 9) if self._pace.jitter else 1)  # noqa: S311
        events = self.stats.events
        try:
            if since is None:
                await self._stream(served, seconds)
            else:
                await self._resume(served, since, seconds)
        finally:
            following, self._following = self._following, None
            lasted = time.monotonic() - following if following is not None else 0.0
            if lasted >= _LASTING:
                self._failures = 0
        if following is not None:
            self._ended(lasted, self.stats.events - events)
            if self._failures:
                await asyncio.sleep(self._wait())

    async def _resume(self, served: str, since: str, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        live: asyncio.TimerHandle | None = None
        try:
            async with (
                asyncio.timeout(self._pace.silence) as patience,
                self._client.watch(self.kind, served, since, max(1, int(seconds))) as lines,
            ):
                self._following = time.monotonic()
                patience.reschedule(loop.time() + seconds + self._pace.grace)
                # Not yet: what happened meanwhile is still to come, or an ERROR event.
                live = loop.call_later(self._pace.catch_up, self._connected)
                async for line in lines:
                    self._take(self._decoder.event(line))
        except TimeoutError as error:
            if self._following is None:
                raise UnreachableError(f"no answer to the watch within {self._pace.silence:.0f} s") from error
            self._count("frozen")
            log.warning(
                'event="watch cut off" kind=%s why="it outlived its timeout of %.0f s"', self.kind.name, seconds
            )
        finally:
            if live is not None:
                live.cancel()

    async def _stream(self, served: str, seconds: float) -> None:
        """A streaming list, and the watch that it goes over into.

        The list may take its time, as long as it goes on; the server is asked for as much, so we end the watch.
        """
        started, initial = time.monotonic(), []
        complete = False
        asked = int(self._pace.longest_list + seconds) + 1
        try:
            async with (
                asyncio.timeout(self._pace.silence) as patience,
                self._client.watch(self.kind, served, None, asked) as lines,
            ):
                async for line in lines:
                    event = self._decoder.event(line)
                    if complete:
                        self._take(event)
                        continue
                    patience.reschedule(asyncio.get_running_loop().time() + self._pace.silence)
                    if event.seen is not None:
                        initial.append(event.seen)
                    if event.initial_end:
                        await self._listed(initial, event.version, started)
                        initial, complete = [], True
                        self._following = time.monotonic()
                        self._connected()
                        patience.reschedule(asyncio.get_running_loop().time() + seconds)
        except TimeoutError as error:
            if not complete:
                self._streams = False
                raise UnreachableError(f"the streaming list was silent for {self._pace.silence:.0f} s") from error
        except StatusError as error:
            if complete or error.code in (401, 403, 404, 429, 502, 503):
                raise
            # Not offered here: as an error before the stream, or as its first event.
            log.info('event="no streaming list" kind=%s why="%s"', self.kind.name, error)
            self._streams = False
            return
        except KubeError:
            self._streams = complete
            raise
        if not complete:
            self._streams = False
            raise UnreachableError("the streaming list ended before it was complete")

    def _take(self, event: Event) -> None:
        stats = self.stats
        if event.version:
            if 0 < _number(event.version) < _number(self._version or ""):
                raise GarbledError(f"the watch goes back in time, from {self._version} to {event.version}")
            self._version = event.version
        if event.seen is None:
            stats.last_bookmark = time.time()
            return
        stats.events += 1
        stats.last_event = time.time()
        if event.type == "DELETED":
            self._intake.gone(self.kind, event.seen.namespace, event.seen.name, _number(event.version))
        else:
            self._intake.seen(self.kind, event.seen)

    # -- how well we see

    def _connected(self) -> None:
        self.stats.last_connect = time.time()
        self.stats.disconnected = None
        self._report(SyncState.LIVE)

    def _ended(self, seconds: float, events: int) -> None:
        """A watch ended as it should; one that ends at once, again and again, is slowed down like a failure."""
        if seconds < _LASTING and not events:
            self._failures += 1
            self._lost("the API server ends the watch at once")
        else:
            self._lost("the watch has just ended")

    def _lost(self, why: str) -> None:
        if self.stats.disconnected is None:
            self.stats.disconnected = time.monotonic()
        if self.synced and self.sync_state is not SyncState.STALE:
            self._report(SyncState.BEHIND, why)
            self.age()

    def age(self) -> None:
        """Called now and then: a connection lost for too long makes what we hold stale."""
        lost = self.stats.disconnected
        if (
            self.sync_state is SyncState.BEHIND
            and lost is not None
            and time.monotonic() - lost > self._pace.stale_after
        ):
            self._report(SyncState.STALE, f"no connection for {self.kind.resource} for {self._pace.stale_after:.0f} s")

    def _report(self, sync_state: SyncState, why: str = "") -> None:
        self.sync_state = sync_state
        self._intake.sync_state(self.kind, sync_state, why)

    def _count(self, error: str) -> None:
        self.stats.errors[error] = self.stats.errors.get(error, 0) + 1

    # -- what went wrong

    async def _failed(self, error: KubeError) -> None:
        self._failures += 1
        self._count(_name(error))
        if isinstance(error, AbsentError):
            means = "there is none of it" if self.kind.dispensable else "checks that read it have no answer"
            self._blind(SyncState.ABSENT, f"{error}; {means} until its CRD is installed")
        elif isinstance(error, StatusError) and error.code in (401, 403):
            self._blind(SyncState.FORBIDDEN, self._sentence(error))
        else:
            if not isinstance(error, StatusError) or error.code in (400, 404, 410, 500, 504):
                self._forget(error)
            if self.synced:
                self._lost(self._sentence(error))
            else:
                self._report(SyncState.FAILING, self._sentence(error))
        usual = self.kind.optional and isinstance(error, AbsentError)
        level = logging.DEBUG if usual else logging.WARNING
        log.log(
            level, 'event="source failed" kind=%s sync state=%s why="%s"', self.kind.name, self.sync_state.value, error
        )
        await asyncio.sleep(self._wait(error))

    def _blind(self, sync_state: SyncState, why: str) -> None:
        self._served = self._version = None
        self._streams = True
        if self.stats.disconnected is None:
            self.stats.disconnected = time.monotonic()
        self._report(sync_state, why)

    def _forget(self, error: KubeError) -> None:
        """An unreachable server keeps its versions; any other answer here means that ours is of no use to it."""
        if isinstance(error, UnreachableError | ConfigError):
            return
        self._version = None
        if isinstance(error, StatusError) and error.code == 404:
            self._served = None

    def _sentence(self, error: KubeError) -> str:
        if isinstance(error, StatusError) and error.code in (401, 403):
            what = "log in again" if error.code == 401 else f'grant "list" and "watch" on {self.kind.resource}'
            return f"cannot list {self.kind.resource} in all namespaces: {error}; {what}"
        return f"cannot see {self.kind.resource}: {error}"

    def _wait(self, error: KubeError | None = None) -> float:
        """Seconds until the next try."""
        if self.sync_state in (SyncState.ABSENT, SyncState.FORBIDDEN):
            return self._spread(self._pace.look_again)
        grown = self._pace.first_wait * 2 ** min(self._failures - 1, 10)
        if isinstance(error, StatusError) and error.code == 410 and self._failures == 1:
            grown /= 8  # nothing is wrong with the server
        asked = (error.retry_after or 0.0) if isinstance(error, StatusError) else 0.0
        return max(min(asked, self._pace.longest_wait), self._spread(min(grown, self._pace.longest_wait)))

    def _spread(self, seconds: float) -> float:
        return seconds * random.uniform(0.5, 1.0) if self._pace.jitter else seconds  # noqa: S311


def _name(error: KubeError) -> str:
    if isinstance(error, StatusError):
        return str(error.code)
    return {AbsentError: "absent", GarbledError: "garbled", ConfigError: "config"}.get(type(error), "unreachable")


def _number(version: str) -> int:
    """To order two resourceVersions; 0 for one that says nothing."""
    return int(version) if version.isdecimal() and len(version) < 30 else 0
