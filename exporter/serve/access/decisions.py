"""Decisions of the API server, kept for a while: asked for once by however many wait for them, and bounded in number.

While the API server can't be asked a decision that was made before holds on, for a limited time. That it could not be
asked is never kept as a decision.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...kube.errors import KubeError, StatusError, UnreachableError

log = logging.getLogger(__name__)

# Of requests that wait for a decision which was never made, and for one that was:
_MOST_WAITING = 32  # for one address or user
_MOST_IN_ALL = 128  # in a full room the newest of the largest crowd goes

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BusyError(KubeError):
    """It is not asked, since too many ask: nothing is known, and that is no failure of the API server."""


class _Room:
    """Those that wait, in crowds by whom they are of."""

    def __init__(self) -> None:
        self._crowds: dict[str, list[asyncio.Future[None]]] = {}

    def enter(self, who: str) -> asyncio.Future[None] | None:
        """A place, which is done once its holder has to go; None where there is none."""
        crowd = self._crowds.get(who, [])
        if len(crowd) >= _MOST_WAITING:
            return None
        if sum(map(len, self._crowds.values())) >= _MOST_IN_ALL:
            largest = max(self._crowds, key=lambda each: len(self._crowds[each]))
            if len(crowd) + 1 >= len(self._crowds[largest]):
                return None
            newest = self._crowds[largest][-1]
            self.leave(largest, newest)
            newest.set_result(None)
        place = asyncio.get_running_loop().create_future()
        self._crowds.setdefault(who, crowd).append(place)
        return place

    def leave(self, who: str, place: asyncio.Future[None]) -> None:
        """Also where its holder had to go already."""
        crowd = self._crowds.get(who, [])
        if place in crowd:
            crowd.remove(place)
        if not crowd:
            self._crowds.pop(who, None)


@dataclass(frozen=True)
class Times:
    """In seconds: how long each decision holds before it is asked for again, and how long at most while the API server
    can't be asked; `again` is how long it is not asked then for what is known.
    """

    user: float = 60.0
    stranger: float = 10.0
    allowed: float = 300.0
    denied: float = 30.0
    namespaces: float = 300.0
    outage: float = 900.0
    again: float = 5.0


class Outage:
    """Whether the API server could be asked the last time; that it can't be is logged once, and that it can again."""

    def __init__(self, review: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Of one sort of reviews: that others are answered says nothing of these."""
        self._review, self.clock = review, clock
        self._why, self._advice, self._at = "", "", 0.0

    def failed(self, error: KubeError) -> None:
        advice = ""
        if isinstance(error, StatusError) and error.code == 403:
            advice = ". Grant the ClusterRole steward-access to the steward's ServiceAccount"
        if not self._why or advice != self._advice:
            log.error('event="%s review failed" why="%s%s"', self._review, error, advice)
        self._why, self._advice, self._at = str(error), advice, self.clock()

    def ended(self) -> None:
        if self._why:
            log.info('event="%s review recovered"', self._review)
        self._why = ""

    def recent(self, seconds: float) -> bool:
        return bool(self._why) and self.clock() - self._at < seconds


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value
    made: float
    until: float


class Remembered(Generic[Key, Value]):
    """What is false, such as nobody, no permission and no namespaces, is kept apart: it can't push out what is true."""

    def __init__(self, keep: Callable[[Value], float], outage: Outage, times: Times, most: int) -> None:
        """`keep` says for how many seconds a decision holds, `most` how many of each sort are kept."""
        self._keep, self._outage, self._times, self._most = keep, outage, times, most
        self._tables: dict[bool, OrderedDict[Key, _Entry[Value]]] = {True: OrderedDict(), False: OrderedDict()}
        self._asking: dict[Key, asyncio.Task[Value]] = {}
        self._rooms = {True: _Room(), False: _Room()}  # by whether it is known
        self._waits: Counter[Key] = Counter()  # how many, for what
        self._closed = False

    async def get(self, key: Key, ask: Callable[[], Awaitable[Value]], who: str) -> Value:
        """`who` is the address or user for which it is asked. Raises KubeError where nothing is known that still
        holds, BusyError where too many wait already.
        """
        now = self._outage.clock()
        entry = self._tables[True].get(key) or self._tables[False].get(key)
        if entry is not None and now < entry.until:
            self._tables[bool(entry.value)].move_to_end(key)
            return entry.value
        held = entry is not None and now < entry.made + self._times.outage
        if entry is not None and held and self._outage.recent(self._times.again):
            return entry.value
        known = entry is not None and held and bool(entry.value)
        place = self._rooms[known].enter(who)
        if place is None:
            if entry is None or not known:
                raise BusyError("too many requests are already waiting for a decision")
            self._asked(key, ask)  # the answer is for the next request
            return entry.value
        self._waits[key] += 1
        try:
            return await self._answer_to(key, ask, place, entry if known else None)
        except BusyError:
            raise
        except KubeError:
            if entry is not None and held:
                return entry.value
            raise
        finally:
            self._rooms[known].leave(who, place)
            self._waits[key] -= 1
            if not self._waits[key]:
                del self._waits[key]

    async def _answer_to(
        self, key: Key, ask: Callable[[], Awaitable[Value]], place: asyncio.Future[None], known: _Entry[Value] | None
    ) -> Value:
        """What is answered, unless the place is lost before; then what is known. Raises BusyError without that."""
        asked = self._asked(key, ask)
        # A client that leaves does not end what others wait for.
        await asyncio.wait((asked, place), return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return asked.result()
        if known is not None:
            return known.value
        if self._waits[key] == 1:
            asked.cancel()
            self._asking.pop(key, None)  # who asks now asks anew
        raise BusyError("others have more need of the place")

    def knows(self, key: Key) -> bool:
        """Whether it was true when it was asked for last."""
        return key in self._tables[True]

    def _asked(self, key: Key, ask: Callable[[], Awaitable[Value]]) -> asyncio.Task[Value]:
        if self._closed:
            raise UnreachableError("the steward is shutting down")
        if key not in self._asking:
            self._asking[key] = asyncio.create_task(self._ask(key, ask))
            self._asking[key].add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._asking[key]

    async def _ask(self, key: Key, ask: Callable[[], Awaitable[Value]]) -> Value:
        try:
            value = await ask()
        except BusyError:
            raise
        except KubeError as error:
            self._outage.failed(error)
            raise
        finally:
            if self._asking.get(key) is asyncio.current_task():
                del self._asking[key]
        self._outage.ended()
        now = self._outage.clock()
        self._tables[not value].pop(key, None)
        table = self._tables[bool(value)]
        table[key] = _Entry(value, now, now + self._keep(value))
        table.move_to_end(key)
        while len(table) > self._most:
            table.popitem(last=False)
        return value

    async def aclose(self) -> None:
        """Ends what is being asked, and asks no more."""
        self._closed = True
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
