"""Reflector: keeps the records of one kind equal to the API server's objects.

Lists, hands the complete list over, then watches from the list's resourceVersion. If the API server offers streaming
lists, list and watch are one request. Records are never dropped in between: until a new list is complete, the old ones
stay.

Resumes from the last event or bookmark after the server's timeout, a broken connection, or a watch that outlives its
timeout (a frozen connection). Relists after 410 Gone, an ERROR event, a resourceVersion that the server does not know,
a line that can't be decoded, events that go back in time, an API server that went back in time, or one that used to
send bookmarks and fell silent. Discovers the served version again after 404 and 403; a kind that was served is absent
only when two looks say so. Never gives up, since permissions can be granted and CRDs installed at any time. The backoff
grows to half a minute until a watch lasts; a Retry-After is honoured up to that.

Not done here: evaluation. A watch on which the server withholds events is noticed only when it ends, unless bookmarks
used to come on it and no longer do.

`LiveSource` has one reflector per kind that checks read.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ...engine.intake import Intake
from ...facts.times import Skew
from ...store.kind import ApiKind, Kind
from ...store.source import SyncState
from ..background import alongside
from ..client import Client, Timeouts
from ..errors import AbsentError, ConfigError, KubeError, MalformedError, StatusError, UnreachableError
from ..transport import Transport
from .listing import Decoder, Initial, ListOutcome, WatchEvent, paged
from .sync_state import KindSync, WatchSilence

__all__ = ["Reflector", "Timeouts"]

# How long a reflector waits before its next attempt.


class Backoff:
    """Waits that grow with each failure, up to a limit; all in seconds."""

    def __init__(self, pace: Timeouts) -> None:
        self._pace = pace
        self.failures = 0

    def after(self, error: Exception | None = None) -> float:
        """After a failure; a Retry-After is honoured up to the longest wait."""
        grown = self._pace.first_wait * 2 ** min(self.failures - 1, 10)
        if isinstance(error, StatusError) and error.code == 410 and self.failures == 1:
            grown /= 8  # the server is healthy
        asked = (error.retry_after or 0.0) if isinstance(error, StatusError) else 0.0
        return max(min(asked, self._pace.longest_wait), self._jittered(min(grown, self._pace.longest_wait)))

    def until_looking_again(self) -> float:
        """For a permission or a CRD that may come at any time."""
        return self._jittered(self._pace.look_again)

    def watch_timeout(self) -> float:
        """The seconds of one watch, so that those of all kinds don't end at once."""
        return self._pace.watch * (random.uniform(8 / 9, 10 / 9) if self._pace.jitter else 1)  # noqa: S311

    def _jittered(self, seconds: float) -> float:
        return seconds * random.uniform(0.5, 1.0) if self._pace.jitter else seconds  # noqa: S311


log = logging.getLogger(__name__)
_LASTING = 1.0  # seconds; a shorter watch does not reset the backoff


class Reflector:
    def __init__(
        self,
        kind: ApiKind[Any],
        client: Client,
        intake: Intake,
        pace: Timeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """By the `clock`, in seconds, a streaming list that does not end is given up."""
        self.kind, self._clock = kind, clock
        self._client, self._intake, self._pace = client, intake, pace
        self._sync = KindSync(kind, intake, pace)
        self.stats = self._sync.stats
        self._decoder = Decoder(kind)
        self._backoff = Backoff(pace)
        self._silence = WatchSilence(pace.quiet)
        self._served: str | None = None  # the served API version, once discovered
        self._vanished = False  # whether it was served, and was not when we looked last
        self._version: str | None = None  # the resourceVersion to resume from; None: list first
        self._streams = True  # whether to try a streaming list before a paged one
        self._watching: float | None = None  # monotonic, since when the watch is established

    def age(self) -> None:
        """Called every second: without a connection for too long, what we hold is stale."""
        self._sync.age()

    async def run(self) -> None:
        """Lists and watches, and does not return."""
        while True:
            try:
                await self._once()
            except KubeError as error:
                await self._failed(error)

    async def _once(self) -> None:
        if self._served is None:
            absent = self._sync.sync_state is SyncState.ABSENT
            self._served = await self._client.served_version(self.kind, absent=absent)
            self._vanished = False
        if self._version is not None:
            await self._check_time(self._served, self._version)
        if self._version is None and self._streams:
            await self._watch(self._served, None)
            return
        if self._version is None:
            started = time.monotonic()
            listed = await paged(self._client, self._decoder, self.kind, self._served, self._pace)
            await self._listed(listed, started)
        await self._watch(self._served, self._version)

    async def _check_time(self, served: str, since: str) -> None:
        """Before a watch is resumed: an API server that was restored from a backup would accept it, and be silent."""
        if not _number(since):
            return
        now = self._decoder.page(await self._client.newest(self.kind, served)).version
        if 0 < _number(now) < _number(since):
            why = f"the API server went back in time, from resourceVersion {since} to {now}"
            self._relist("went_back", why)
            self._sync.outdated(f"{why}; {self.kind.resource} is listed again")

    def _relist(self, counted: str, why: str) -> None:
        self._version = None
        self.stats.count(counted)
        log.warning('event="relist" kind=%s why="%s"', self.kind.name, why)

    async def _listed(self, listed: ListOutcome, started: float) -> None:
        if not listed.version:
            raise MalformedError("the response is not a list: it has no resourceVersion")  # not an empty list
        count = len(listed.objects)
        await self._intake.swap(self.kind, listed.objects)
        took = time.monotonic() - started
        self._sync.listed(took)
        self._silence.heard()
        self._streams = True
        self._version = listed.version
        log.info('event="listed" kind=%s objects=%d took=%.3f', self.kind.name, count, took)

    # -- watch

    async def _watch(self, served: str, since: str | None) -> None:
        """One watch, until it ends; with a streaming list first if `since` is None."""
        seconds = self._backoff.watch_timeout()
        events = self.stats.events
        try:
            if since is None:
                await self._stream(served, seconds)
            else:
                await self._resume(served, since, seconds)
        finally:
            following, self._watching = self._watching, None
            lasted = time.monotonic() - following if following is not None else 0.0
            if following is not None:
                self._silence.watch_ends()
            if lasted >= _LASTING:
                self._backoff.failures = 0
        if following is not None:
            self._watch_ended(lasted, self.stats.events - events)
            if self._backoff.failures:
                await asyncio.sleep(self._backoff.after())

    async def _resume(self, served: str, since: str, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        live_at: asyncio.TimerHandle | None = None
        try:
            async with (
                asyncio.timeout(self._pace.silence) as patience,
                self._client.watch(self.kind, served, since, max(1, int(seconds))) as lines,
            ):
                # Not live yet: missed events, or an ERROR event, are still to come.
                live_at = loop.call_later(self._pace.catch_up, self._sync.connected)
                await self._follow(lines, patience, seconds + self._pace.grace)
        except TimeoutError as error:
            if self._watching is None:
                raise UnreachableError(f"no response to the watch within {self._pace.silence:.0f} s") from error
            if not self._silence.suspicious:
                self.stats.count("frozen")
                why = f"it outlived its timeout of {seconds:.0f} s"
                log.warning('event="watch closed" kind=%s why="%s"', self.kind.name, why)
        finally:
            if live_at is not None:
                live_at.cancel()

    async def _stream(self, served: str, seconds: float) -> None:
        """A streaming list, and the watch that it turns into.

        The list may take minutes while data arrives, so the requested timeout covers it too, and we end the watch.
        """
        started = time.monotonic()
        complete = False
        timeout = int(self._pace.longest_list + seconds) + 1
        try:
            async with (
                asyncio.timeout(self._pace.silence) as patience,
                self._client.watch(self.kind, served, None, timeout) as lines,
            ):
                listed = await self._initial(lines, patience)
                patience.reschedule(None)  # what was read is taken in whole, however long that takes
                await self._listed(listed, started)
                complete = True
                self._sync.connected()
                await self._follow(lines, patience, seconds)
        except TimeoutError as error:
            if not complete:
                self._streams = False
                raise UnreachableError(f"no data of the streaming list for {self._pace.silence:.0f} s") from error
        except StatusError as error:
            if complete or error.code in (401, 403, 404, 429, 502, 503):
                raise
            # Not supported: as an error response, or as the first event.
            log.info('event="streaming list rejected" kind=%s why="%s"', self.kind.name, error)
            self._streams = False
        except KubeError:
            self._streams = complete
            raise

    async def _initial(self, lines: AsyncIterator[bytes], patience: asyncio.Timeout) -> ListOutcome:
        initial, longest = Initial(self.kind.resource), self._pace.longest_list
        until = self._clock() + longest
        async for line in lines:
            if self._clock() > until:
                raise UnreachableError(f"the streaming list has not come to its end within {longest:.0f} s")
            event = self._decoder.event(line)
            patience.reschedule(asyncio.get_running_loop().time() + self._pace.silence)
            initial.take(event)
            if event.initial_end:
                return ListOutcome(initial.objects, event.version)
        raise UnreachableError("the streaming list ended before it was complete")

    async def _follow(self, lines: AsyncIterator[bytes], patience: asyncio.Timeout, seconds: float) -> None:
        """The events of a watch. TimeoutError after so many seconds, or earlier if the API server fell silent."""
        self._watching = time.monotonic()
        self._silence.watch_begins()
        patience.reschedule(asyncio.get_running_loop().time() + seconds)
        with self._listening(patience):
            async for line in lines:
                await self._intake.at_rest()
                self._handle(self._decoder.event(line))

    @contextmanager
    def _listening(self, patience: asyncio.Timeout) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            if not self._silence.suspicious:
                timer = loop.call_later(self._silence.left, look)
            elif not patience.expired():
                patience.reschedule(loop.time())

        timer = loop.call_later(self._silence.left, look)
        try:
            yield
        finally:
            timer.cancel()

    def _handle(self, event: WatchEvent) -> None:
        before = _number(self._version or "")
        if event.version:
            if 0 < _number(event.version) < before:
                raise MalformedError(f"the watch goes back in time, from {self._version} to {event.version}")
            self._version = event.version
        self._silence.heard(ahead=event.decoded is None and _number(event.version) > before)
        self._sync.event(bookmark=event.decoded is None)
        if event.decoded is None:
            return
        if event.type == "DELETED":
            self._intake.gone(self.kind, event.decoded.namespace, event.decoded.name, _number(event.version))
        else:
            self._intake.seen(self.kind, event.decoded)

    def _watch_ended(self, seconds: float, events: int) -> None:
        """A watch ended in order; one that ends immediately, again and again, backs off like a failure."""
        if self._silence.suspicious:
            why = f"the API server sent no event and no bookmark for {self._silence.longest:.0f} s"
            self._silence.suspected()
            self._relist("silent", why)
            self._sync.disconnected(f"{why}; {self.kind.resource} is listed again")
        elif seconds < _LASTING and not events:
            self._backoff.failures += 1
            self._sync.disconnected("the API server ends the watch immediately")
        else:
            self._sync.disconnected("the watch has just ended")

    # -- errors

    async def _failed(self, error: KubeError) -> None:
        self._backoff.failures += 1
        self.stats.count(_name(error))
        wait = self._backoff.after(error)
        if isinstance(error, AbsentError) and self._sync.synced and not self._vanished:
            # Behind one address there may be several API servers, and one of them has just started.
            self._vanished, self._version = True, None
            self._sync.failed(f"{error} at present; the next discovery has to confirm that")
            wait = self._backoff.until_looking_again()
        elif isinstance(error, AbsentError):
            means = "there are no objects" if self.kind.optional else "checks that read it are unknown"
            self._unavailable(SyncState.ABSENT, f"{error}; {means} until its CRD is installed")
        elif isinstance(error, StatusError) and error.code in (401, 403):
            self._unavailable(SyncState.FORBIDDEN, self._sentence(error))
        else:
            if not isinstance(error, StatusError) or error.code in (400, 404, 410, 500, 504):
                self._invalidate(error)
            self._sync.failed(self._sentence(error))
        if self._sync.sync_state in (SyncState.ABSENT, SyncState.FORBIDDEN):
            wait = self._backoff.until_looking_again()
        self._log(error)
        await asyncio.sleep(wait)

    def _log(self, error: KubeError) -> None:
        expected = self.kind.optional and isinstance(error, AbsentError)
        state = self._sync.sync_state.value
        level = logging.DEBUG if expected else logging.WARNING
        log.log(level, 'event="source failed" kind=%s sync_state=%s why="%s"', self.kind.name, state, error)

    def _unavailable(self, sync_state: SyncState, why: str) -> None:
        self._served = self._version = None
        self._streams = True
        self._sync.unavailable(sync_state, why)

    def _invalidate(self, error: KubeError) -> None:
        """An unreachable server keeps its versions; any other error here means that ours is not valid any more."""
        if isinstance(error, UnreachableError | ConfigError):
            return
        self._version = None
        if isinstance(error, StatusError) and error.code == 404:
            self._served = None

    def _sentence(self, error: KubeError) -> str:
        if isinstance(error, StatusError) and error.code in (401, 403):
            what = "Renew the credentials" if error.code == 401 else f'Grant "list" and "watch" on {self.kind.resource}'
            return f"can't list {self.kind.resource} in all namespaces: {error}. {what}"
        return f"can't list or watch {self.kind.resource}: {error}"


def _name(error: KubeError) -> str:
    if isinstance(error, StatusError):
        return str(error.code)
    return {AbsentError: "absent", MalformedError: "malformed", ConfigError: "config"}.get(type(error), "unreachable")


def _number(version: str) -> int:
    """To order two resourceVersions; 0 for one that is not a number."""
    return int(version) if version.isdecimal() and len(version) < 30 else 0


_AGE_SECONDS = 1.0  # between two looks for stale kinds


class LiveSource:
    def __init__(
        self, transport: Transport, kinds: Iterable[Kind[Any]], intake: Intake, pace: Timeouts | None = None
    ) -> None:
        pace = pace or Timeouts()
        self.transport = transport
        client = Client(transport, pace)
        self.requests = client.requests
        self.reflectors = [Reflector(kind, client, intake, pace) for kind in kinds if isinstance(kind, ApiKind)]

    def skew(self) -> Skew | None:
        """Of our clock and the API server's, as far as that is known."""
        return self.transport.clocks.skew()

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watches while entered; an unexpected error of a reflector is raised in the block. Raises ConfigError."""
        try:
            await self.transport.load()
            jobs = {f"reflect {each.kind.name}": each.run() for each in self.reflectors}
            async with alongside({**jobs, "age": self._age()}):
                yield
        finally:
            await self.transport.close()

    async def _age(self) -> None:
        while True:
            for reflector in self.reflectors:
                reflector.age()
            await asyncio.sleep(_AGE_SECONDS)
