"""Decisions of the API server, kept for a while: asked for once by however many wait for them, and bounded in number.

While the API server can't be asked a decision that was made before holds on, for a limited time. That it could not be
asked is never kept as a decision.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..kube.errors import KubeError, StatusError, UnreachableError

__all__ = ["Outage", "Remembered", "Times"]

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


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

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._why, self._at = "", 0.0

    def failed(self, error: KubeError) -> None:
        advice = ""
        if isinstance(error, StatusError) and error.code == 403:
            advice = "; grant the ClusterRole steward-access to the steward's ServiceAccount"
        if not self._why:
            log.error('event="access unknown" why="%s%s"', error, advice)
        self._why, self._at = str(error), self.clock()

    def ended(self) -> None:
        if self._why:
            log.info('event="access known"')
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
        self._closed = False

    async def get(self, key: Key, ask: Callable[[], Awaitable[Value]]) -> Value:
        """Raises KubeError where nothing is known that still holds."""
        now = self._outage.clock()
        entry = self._tables[True].get(key) or self._tables[False].get(key)
        if entry is not None and now < entry.until:
            self._tables[bool(entry.value)].move_to_end(key)
            return entry.value
        held = entry is not None and now < entry.made + self._times.outage
        if entry is not None and held and self._outage.recent(self._times.again):
            return entry.value
        try:
            # A client that leaves does not end what others wait for.
            return await asyncio.shield(self._asked(key, ask))
        except KubeError:
            if entry is not None and held:
                return entry.value
            raise

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
