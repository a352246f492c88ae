"""Asks Prometheus what was, beside the pages that show it: none waits for longer than a moment.

What is not there by then is left out, and is there the next time. A Prometheus that does not answer is let alone for a
while, and so is one that is slow waited for. Answers are kept for a minute, and shown for some more while they are
asked for again. Nothing here is needed: what goes wrong is logged once, and said nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ..config.outside import PrometheusSettings
from ..kube.get_json import GetError, JSONServer
from .answer import Question, Ranges, decoded

log = logging.getLogger(__name__)
_PATH = "/api/v1/query_range"
_ASKING = 2  # questions at once
_WAITING = 16  # questions that wait to be asked; a page goes without the next one
_KEPT = 200  # answers


@dataclass(frozen=True)
class Bounds:
    """In seconds: for how long a page waits, how long an answer may take, how long Prometheus is let alone after a
    failure, and for how long an answer counts as new and may be shown. `size` is in bytes.
    """

    patience: float = 0.25
    answer: float = 5.0
    rest: float = 30.0
    new: float = 60.0
    shown: float = 900.0
    size: int = 1 << 20


@dataclass(frozen=True)
class _Kept:
    at: float
    ranges: Ranges


class Past:
    def __init__(
        self,
        settings: PrometheusSettings,
        clock: Callable[[], float],
        timer: Callable[[], float],
        bounds: Bounds | None = None,
    ) -> None:
        """The settings have a URL. `clock` gives seconds since 1970, `timer` seconds that only grow."""
        self._server = JSONServer(
            settings.url or "", settings.token_file or "", settings.ca_file or "", settings.server_name or ""
        )
        self._clock, self._timer, self._bounds = clock, timer, bounds or Bounds()
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()
        self._awaited: dict[Question, asyncio.Event] = {}  # those that wait or are asked
        self._queue: asyncio.Queue[Question] = asyncio.Queue(_WAITING)
        self._rests_until = self._hurries_until = float("-inf")  # by the timer
        self._why = ""  # of the last failure, which was logged

    async def run(self) -> None:
        """Asks what pages want to know. Does not return, and raises nothing for what Prometheus does."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_ASKING):
                group.create_task(self._asking())

    async def of(self, question: Question) -> Ranges | None:
        """The answer; None where there is none within a moment."""
        kept = self._kept.get(question)
        age = self._timer() - kept.at if kept else float("inf")
        if kept and age < self._bounds.new:
            return kept.ranges
        asked = self._asked(question)
        if asked and self._timer() >= self._hurries_until:
            try:
                async with asyncio.timeout(self._bounds.patience):
                    await asked.wait()
            except TimeoutError:
                self._hurries_until = self._timer() + self._bounds.rest
            kept = self._kept.get(question)
            age = self._timer() - kept.at if kept else float("inf")
        return kept.ranges if kept and age < self._bounds.shown else None

    def _asked(self, question: Question) -> asyncio.Event | None:
        """Set once it was asked; None where it will not be."""
        if question in self._awaited:
            return self._awaited[question]
        if self._timer() < self._rests_until or self._queue.full():
            return None
        self._queue.put_nowait(question)
        self._awaited[question] = event = asyncio.Event()
        return event

    async def _asking(self) -> None:
        while True:
            question = await self._queue.get()
            try:
                if self._timer() >= self._rests_until:
                    self._answered(question, await self._ask(question))
            except (GetError, ValueError) as error:
                self._failed(str(error))
            finally:
                self._awaited.pop(question).set()

    async def _ask(self, question: Question) -> Ranges:
        end = self._clock()
        query = {
            "query": question.query,
            "start": f"{end - question.length:.3f}",
            "end": f"{end:.3f}",
            "step": f"{question.step}",
            "timeout": f"{self._bounds.answer:g}s",
        }
        body = await self._server.get(_PATH, query, seconds=self._bounds.answer, most=self._bounds.size)
        return decoded(body)

    def _answered(self, question: Question, ranges: Ranges) -> None:
        self._kept.pop(question, None)
        self._kept[question] = _Kept(self._timer(), ranges)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        if self._why:
            log.info('event="prometheus answers" url=%s', self._server.url)
            self._why = ""

    def _failed(self, why: str) -> None:
        """Logs it once, not each time that it is tried again."""
        self._rests_until = self._timer() + self._bounds.rest
        if why != self._why:
            log.warning('event="prometheus not asked" why="%s"', why[:300].replace('"', "'"))
        self._why = why
