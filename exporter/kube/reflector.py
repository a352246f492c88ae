"""Reflector: keeps the records of one kind equal to the API server's objects.

Lists, hands the complete list over, then watches from the list's resourceVersion. If the API server offers streaming
lists, list and watch are one request. Records are never dropped in between: until a new list is complete, the old ones
stay.

Resumes from the last event or bookmark after the server's timeout, a broken connection, or a watch that outlives its
timeout (a frozen connection). Relists after 410 Gone, an ERROR event, a resourceVersion that the server does not know,
a line that can't be decoded, or events that go back in time. Discovers the served version again after 404 and 403.
Never gives up, since permissions can be granted and CRDs installed at any time. The backoff grows to half a minute
until a watch lasts; a Retry-After is honoured up to that.

Not done here: evaluation. A watch on which the server withholds events is noticed only when it ends.
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
from .decode import Decoded, Decoder, Event
from .errors import AbsentError, ConfigError, KubeError, MalformedError, StatusError, UnreachableError
from .pace import Pace

__all__ = ["Pace", "Reflector", "Stats"]

log = logging.getLogger(__name__)
_LASTING = 1.0  # seconds; a shorter watch does not reset the backoff


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


class Reflector:
    def __init__(self, kind: ApiKind[Any], client: Client, intake: Intake, pace: Pace) -> None:
        self.kind = kind
        self.stats = Stats()
        self.synced = False
        self.sync_state = SyncState.STARTING
        self._client, self._intake, self._pace = client, intake, pace
        self._decoder = Decoder(kind)
        self._served: str | None = None  # the served API version, once discovered
        self._version: str | None = None  # the resourceVersion to resume from; None: list first
        self._streams = True  # whether to try a streaming list before a paged one
        self._failures = 0
        self._watching: float | None = None  # monotonic, since when the watch is established
        self._set_sync_state(SyncState.STARTING, f"{kind.resource} has not been listed yet")

    async def run(self) -> None:
        """Lists and watches, and does not return."""
        while True:
            try:
                await self._once()
            except KubeError as error:
                await self._failed(error)

    async def _once(self) -> None:
        if self._served is None:
            self._served = await self._client.served_version(self.kind)
        if self._version is None and self._streams:
            await self._watch(self._served, None)
            return
        if self._version is None:
            await self._list(self._served)
        await self._watch(self._served, self._version)

    # -- list

    async def _list(self, served: str) -> None:
        started = time.monotonic()
        objects: list[Decoded] = []
        rest, version = "", ""
        limit: int | None = None
        while True:
            try:
                page = self._decoder.page(await self._client.page(self.kind, served, rest, limit))
            except StatusError as error:
                if error.code != 410 or not rest:
                    raise
                # The snapshot of the pages expired; list again without paging.
                objects, rest, limit = [], "", 0
                continue
            objects += page.objects
            rest, version = page.rest, page.version
            if not rest:
                break
        await self._listed(objects, version, started)

    async def _listed(self, objects: list[Decoded], version: str, started: float) -> None:
        if not version:
            raise MalformedError("the response is not a list: it has no resourceVersion")  # not an empty list
        await self._intake.swap(self.kind, objects)
        self.stats.relists += self.synced
        self.stats.last_event = time.time()
        self.stats.current = self.stats.last_event - (time.monotonic() - started)
        self.synced = self._streams = True
        self._version = version
        log.info(
            'event="listed" kind=%s objects=%d took=%.3f', self.kind.name, len(objects), time.monotonic() - started
        )

    # -- watch

    async def _watch(self, served: str, since: str | None) -> None:
        """One watch, until it ends; with a streaming list first if `since` is None."""
        seconds = self._pace.watch * (random.uniform(8 / 9, 10 / 9) if self._pace.jitter else 1)  # noqa: S311
        events = self.stats.events
        try:
            if since is None:
                await self._stream(served, seconds)
            else:
                await self._resume(served, since, seconds)
        finally:
            following, self._watching = self._watching, None
            lasted = time.monotonic() - following if following is not None else 0.0
            if lasted >= _LASTING:
                self._failures = 0
        if following is not None:
            self._watch_ended(lasted, self.stats.events - events)
            if self._failures:
                await asyncio.sleep(self._backoff())

    async def _resume(self, served: str, since: str, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        live_at: asyncio.TimerHandle | None = None
        try:
            async with (
                asyncio.timeout(self._pace.silence) as patience,
                self._client.watch(self.kind, served, since, max(1, int(seconds))) as lines,
            ):
                self._watching = time.monotonic()
                patience.reschedule(loop.time() + seconds + self._pace.grace)
                # Not live yet: missed events, or an ERROR event, are still to come.
                live_at = loop.call_later(self._pace.catch_up, self._connected)
                async for line in lines:
                    self._handle(self._decoder.event(line))
        except TimeoutError as error:
            if self._watching is None:
                raise UnreachableError(f"no response to the watch within {self._pace.silence:.0f} s") from error
            self._count("frozen")
            log.warning('event="watch ended" kind=%s why="it outlived its timeout of %.0f s"', self.kind.name, seconds)
        finally:
            if live_at is not None:
                live_at.cancel()

    async def _stream(self, served: str, seconds: float) -> None:
        """A streaming list, and the watch that it turns into.

        The list may take long as long as data arrives, so the requested timeout covers it too, and we end the watch.
        """
        started, initial = time.monotonic(), []
        complete = False
        timeout = int(self._pace.longest_list + seconds) + 1
        try:
            async with (
                asyncio.timeout(self._pace.silence) as patience,
                self._client.watch(self.kind, served, None, timeout) as lines,
            ):
                async for line in lines:
                    event = self._decoder.event(line)
                    if complete:
                        self._handle(event)
                        continue
                    patience.reschedule(asyncio.get_running_loop().time() + self._pace.silence)
                    if event.decoded is not None:
                        initial.append(event.decoded)
                    if event.initial_end:
                        await self._listed(initial, event.version, started)
                        initial, complete = [], True
                        self._watching = time.monotonic()
                        self._connected()
                        patience.reschedule(asyncio.get_running_loop().time() + seconds)
        except TimeoutError as error:
            if not complete:
                self._streams = False
                raise UnreachableError(f"no data of the streaming list for {self._pace.silence:.0f} s") from error
        except StatusError as error:
            if complete or error.code in (401, 403, 404, 429, 502, 503):
                raise
            # Not supported: as an error response, or as the first event.
            log.info('event="streaming list not supported" kind=%s why="%s"', self.kind.name, error)
            self._streams = False
            return
        except KubeError:
            self._streams = complete
            raise
        if not complete:
            self._streams = False
            raise UnreachableError("the streaming list ended before it was complete")

    def _handle(self, event: Event) -> None:
        stats = self.stats
        if event.version:
            if 0 < _number(event.version) < _number(self._version or ""):
                raise MalformedError(f"the watch goes back in time, from {self._version} to {event.version}")
            self._version = event.version
        now = time.time()
        if self.sync_state is SyncState.LIVE:  # before, it may be an event that we missed
            stats.current = now
        if event.decoded is None:
            stats.last_bookmark = now
            return
        stats.events += 1
        stats.last_event = now
        if event.type == "DELETED":
            self._intake.gone(self.kind, event.decoded.namespace, event.decoded.name, _number(event.version))
        else:
            self._intake.seen(self.kind, event.decoded)

    # -- sync state

    def _connected(self) -> None:
        self.stats.last_connect = self.stats.current = time.time()
        self.stats.disconnected = None
        self._set_sync_state(SyncState.LIVE)

    def _watch_ended(self, seconds: float, events: int) -> None:
        """A watch ended in order; one that ends immediately, again and again, backs off like a failure."""
        if seconds < _LASTING and not events:
            self._failures += 1
            self._disconnected("the API server ends the watch immediately")
        else:
            self._disconnected("the watch has just ended")

    def _disconnected(self, why: str) -> None:
        if self.stats.disconnected is None:
            self.stats.disconnected = time.monotonic()
        if self.synced and self.sync_state is not SyncState.STALE:
            self._set_sync_state(SyncState.BEHIND, why)
            self.age()

    def age(self) -> None:
        """Called every second: without a connection for too long, what we hold is stale."""
        since = self.stats.disconnected
        if (
            self.sync_state is SyncState.BEHIND
            and since is not None
            and time.monotonic() - since > self._pace.stale_after
        ):
            self._set_sync_state(
                SyncState.STALE, f"no connection for {self.kind.resource} for {self._pace.stale_after:.0f} s"
            )

    def _set_sync_state(self, sync_state: SyncState, why: str = "") -> None:
        self.sync_state = sync_state
        self._intake.sync_state(self.kind, sync_state, why)

    def _count(self, error: str) -> None:
        self.stats.errors[error] = self.stats.errors.get(error, 0) + 1

    # -- errors

    async def _failed(self, error: KubeError) -> None:
        self._failures += 1
        self._count(_name(error))
        if isinstance(error, AbsentError):
            means = "there are no objects" if self.kind.optional else "checks that read it are unknown"
            self._unavailable(SyncState.ABSENT, f"{error}; {means} until its CRD is installed")
        elif isinstance(error, StatusError) and error.code in (401, 403):
            self._unavailable(SyncState.FORBIDDEN, self._sentence(error))
        else:
            if not isinstance(error, StatusError) or error.code in (400, 404, 410, 500, 504):
                self._invalidate(error)
            if self.synced:
                self._disconnected(self._sentence(error))
            else:
                self._set_sync_state(SyncState.FAILING, self._sentence(error))
        expected = self.kind.optional and isinstance(error, AbsentError)
        level = logging.DEBUG if expected else logging.WARNING
        log.log(
            level, 'event="source failed" kind=%s sync_state=%s why="%s"', self.kind.name, self.sync_state.value, error
        )
        await asyncio.sleep(self._backoff(error))

    def _unavailable(self, sync_state: SyncState, why: str) -> None:
        self._served = self._version = None
        self._streams = True
        if self.stats.disconnected is None:
            self.stats.disconnected = time.monotonic()
        self._set_sync_state(sync_state, why)

    def _invalidate(self, error: KubeError) -> None:
        """An unreachable server keeps its versions; any other error here means that ours is not valid any more."""
        if isinstance(error, UnreachableError | ConfigError):
            return
        self._version = None
        if isinstance(error, StatusError) and error.code == 404:
            self._served = None

    def _sentence(self, error: KubeError) -> str:
        if isinstance(error, StatusError) and error.code in (401, 403):
            what = "renew the credentials" if error.code == 401 else f'grant "list" and "watch" on {self.kind.resource}'
            return f"cannot list {self.kind.resource} in all namespaces: {error}; {what}"
        return f"cannot list or watch {self.kind.resource}: {error}"

    def _backoff(self, error: KubeError | None = None) -> float:
        """Seconds until the next attempt."""
        if self.sync_state in (SyncState.ABSENT, SyncState.FORBIDDEN):
            return self._jittered(self._pace.look_again)
        grown = self._pace.first_wait * 2 ** min(self._failures - 1, 10)
        if isinstance(error, StatusError) and error.code == 410 and self._failures == 1:
            grown /= 8  # the server is healthy
        asked = (error.retry_after or 0.0) if isinstance(error, StatusError) else 0.0
        return max(min(asked, self._pace.longest_wait), self._jittered(min(grown, self._pace.longest_wait)))

    def _jittered(self, seconds: float) -> float:
        return seconds * random.uniform(0.5, 1.0) if self._pace.jitter else seconds  # noqa: S311


def _name(error: KubeError) -> str:
    if isinstance(error, StatusError):
        return str(error.code)
    return {AbsentError: "absent", MalformedError: "malformed", ConfigError: "config"}.get(type(error), "unreachable")


def _number(version: str) -> int:
    """To order two resourceVersions; 0 for one that is not a number."""
    return int(version) if version.isdecimal() and len(version) < 30 else 0
