"""Changes at a given rate: which object is next, and when.

The driver orders them on the standard input of whoever serves the fleet, a JSON object a line, and is answered likewise
on standard output: how many were sent, how long that took, and when each IPAMClaim lost its label, by CLOCK_MONOTONIC,
which all processes of a host share.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bench.fleet.changes import CLAIM

__all__ = ["OBJECTS", "Order", "Orders", "say"]

OBJECTS = 500  # that a kind of change goes around
_OPEN = 100  # claims that have no label at a time
_TICK = 0.005  # seconds between two looks at the clock

T = TypeVar("T")


@dataclass(frozen=True)
class Order:
    """`rate` changes a second for so many seconds, by `shares`, and `claims` a second beside them."""

    seconds: float
    rate: float = 0
    shares: dict[str, int] = field(default_factory=dict)
    claims: float = 0

    def kinds(self) -> Iterator[str]:
        """The kind of each change; does not end."""
        pool = [kind for kind, share in self.shares.items() for _ in range(share)]
        random.Random(7).shuffle(pool)
        return itertools.cycle(pool)


class Orders(Generic[T]):
    """`ready` prepares a kind of change: pairs of what is sent, there and back, each with the name of its object."""

    def __init__(
        self, ready: Callable[[str], Iterable[tuple[str, T, T]]], send: Callable[[T], Awaitable[None]]
    ) -> None:
        self._prepare, self._send = ready, send
        self._ready: dict[str, Iterator[tuple[str, bool, T]]] = {}

    async def follow(self) -> None:
        """Carries out what standard input says, until it ends."""
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            say(await self.carry_out(Order(**json.loads(line))))

    async def carry_out(self, order: Order) -> dict[str, Any]:
        for kind in (*order.shares, *((CLAIM,) if order.claims else ())):
            if kind not in self._ready:  # now, and not when the first one is due
                self._ready[kind] = _rounds(list(self._prepare(kind)))
        kinds, sent, lost = order.kinds(), 0, []
        began = time.monotonic()
        async for of_claim in _paced(order):
            kind = CLAIM if of_claim else next(kinds)
            name, there, what = next(self._ready[kind])
            await self._send(what)
            sent += 1
            if kind == CLAIM and there:
                lost.append((name, time.monotonic()))
        return {"sent": sent, "took": time.monotonic() - began, "lost": lost}


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _rounds(pairs: list[tuple[str, T, T]]) -> Iterator[tuple[str, bool, T]]:
    """Each object in turn is changed, and the one that was changed a while ago is changed back; does not end."""
    behind = min(_OPEN, len(pairs) // 2)
    for number in itertools.count():
        name, there, _ = pairs[number % len(pairs)]
        yield name, True, there
        if number >= behind:
            name, _, back = pairs[(number - behind) % len(pairs)]
            yield name, False, back


async def _paced(order: Order) -> AsyncGenerator[bool]:
    """False at the order's rate, and True at that of its claims; what is late comes at once."""
    paces, done, began = (order.rate, order.claims), [0, 0], time.monotonic()
    while True:
        now = min(time.monotonic() - began, order.seconds)
        for which, pace in enumerate(paces):
            while done[which] < int(now * pace):
                done[which] += 1
                yield bool(which)
        if now >= order.seconds:
            return
        await asyncio.sleep(_TICK)
