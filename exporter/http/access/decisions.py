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

__all__ = ["BusyError", "Outage", "Remembered", "Times"]

log = logging.getLogger(__name__)

# Of requests that wait for a decision which was never made, and for one that was:
_MOST_WAITING = 32  # for one address or user
_MOST_IN_ALL = 128

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BusyError(KubeError):
    """It is not asked, since too many ask: nothing is known, and that is no failure of the API server."""


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
            advice = "; grant the ClusterRole steward-access to the steward's ServiceAccount"
        if not self._why or advice != self._advice:
            log.error('event="access unknown" review=%s why="%s%s"', self._review, error, advice)
        self._why, self._advice, self._at = str(error), advice, self.clock()

    def ended(self) -> None:
        if self._why:
            log.info('event="access known" review=%s', self._review)
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
        self._waiting: Counter[tuple[bool, str]] = Counter()  # by whether it is known, and for whom; "" is all
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
        if self._waiting[known, who] >= _MOST_WAITING or self._waiting[known, ""] >= _MOST_IN_ALL:
            if entry is None or not known:
                raise BusyError("too many requests wait for a decision already")
            self._asked(key, ask)  # the answer is for the next request
            return entry.value
        self._waiting.update([(known, who), (known, "")])
        try:
            # A client that leaves does not end what others wait for.
            return await asyncio.shield(self._asked(key, ask))
        except BusyError:
            raise
        except KubeError:
            if entry is not None and held:
                return entry.value
            raise
        finally:
            self._waiting.subtract([(known, who), (known, "")])
            if not self._waiting[known, who]:
                del self._waiting[known, who]

    def knows(self, key: Key) -> bool:
        """Whether it was true when it was asked for last."""
        return key in self._tables[True]

    def _asked(self, key: Key, ask: Callable[[], Awaitable[Value]]) -> asyncio.Task[Value]:
        if self._closed:
            raise UnreachableError("the steward is ending")
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
