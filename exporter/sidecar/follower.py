"""Follows the sidecar: asks it for its repairs, in the background, and holds the answer back there until it changes.

Whatever the sidecar answers, the findings are served; its repairs are unknown then, and what it said last is kept.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..config.settings import ReconcileSettings
from ..engine.turn import in_turns
from ..kube.get_json import Connection, GetError, JSONServer
from .repairs import Plans, Repairs, decoding

log = logging.getLogger(__name__)
_LARGEST = 32 << 20  # bytes of an answer
_PATH = "/api/v1/plans"
_LONGEST_WHY = 300  # characters


@dataclass(frozen=True)
class Waits:
    """All in seconds. `change` is how long the sidecar may hold an answer back, `answer` how long it may take then;
    `pause` is between two answers, `first` and `longest` are between tries after failures, which double.
    """

    change: int = 30
    answer: float = 15.0
    pause: float = 1.0
    first: float = 1.0
    longest: float = 60.0


class Follower:
    def __init__(self, settings: ReconcileSettings, repairs: Repairs, waits: Waits | None = None) -> None:
        """The settings have a URL."""
        self._sidecar = JSONServer(
            (settings.url or "").rstrip("/"),
            settings.token_file or "",
            settings.ca_file or "",
            settings.server_name or "",
        )
        self._repairs, self._waits = repairs, waits or Waits()
        self._failures = 0

    async def run(self) -> None:
        """Does not return, and raises nothing for what the sidecar or the network does."""
        while True:
            with self._failing():
                await self._follow()
            self._failures += 1
            grown = self._waits.first * 2 ** min(self._failures - 1, 10)
            await asyncio.sleep(min(grown, self._waits.longest) * random.uniform(0.5, 1.0))  # noqa: S311

    async def once(self) -> None:
        """Asks once; raises nothing for what the sidecar or the network does."""
        with self._failing():
            async with self._sidecar.connected(_LARGEST) as connection:
                plans, _ = await self._asked(connection, "", "")
                if plans is not None:
                    self._answered(plans)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except GetError as error:
            self._lost(f"{error}{self._advice(error.status)}")
        except ValueError as error:
            self._lost(str(error))

    async def _follow(self) -> None:
        """Until something fails: the CA and the connections are made anew then."""
        generation = tag = ""
        async with self._sidecar.connected(_LARGEST) as connection:
            while True:
                plans, tag = await self._asked(connection, generation, tag)
                if plans is not None:
                    self._answered(plans)
                    generation = plans.generation
                await asyncio.sleep(self._waits.pause)

    async def _asked(self, connection: Connection, generation: str, tag: str) -> tuple[Plans | None, str]:
        """The answer and its tag; without an answer where nothing has changed."""
        query = {"wait": str(self._waits.change), "since": generation} if generation else {}
        answer = await connection.get(_PATH, query, seconds=self._waits.change + self._waits.answer, tag=tag)
        return (await in_turns(decoding(answer.body)) if answer.status == 200 else None), answer.tag

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            return ". Set reconcile.tokenFile to a token that the sidecar accepts"
        return ". Set reconcile.url to the sidecar's URL, without a path" if status in (301, 302, 404) else ""

    def _answered(self, plans: Plans) -> None:
        if self._repairs.unknown_since is not None:
            log.info('event="repair controller reached" url=%s repairs=%d', self._sidecar.url, len(plans.repairs))
        self._failures = 0
        self._repairs.take(plans)

    def _lost(self, why: str) -> None:
        """Logs it once, not each time that it is tried again."""
        why = f"the repairs can't be read from {self._sidecar.url}: {why}"[:_LONGEST_WHY]
        news = why != self._repairs.why
        self._repairs.lost(why, time.time())
        if news:
            log.warning('event="repair controller unreachable" why="%s"', why)
