"""What a Prometheus has of the past, for pages alone: no finding, no metric and no repair rests on it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from .config.outside import PrometheusSettings
from .kube.get_json import GetError, JSONServer

# The answer of a range query, within bounds.

MOST_POINTS = 400  # of a series
_MOST_SERIES = 10

Ranges = Mapping[str, tuple[tuple[float, float], ...]]
"""Of each series, by its label `of`, the points that there are: seconds since 1970, and the value."""


class Question(msgspec.Struct, frozen=True):
    """A query whose series have a label `of`; how long back from now, and in which steps, in seconds."""

    query: str
    length: int
    step: int


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


_DECODER = msgspec.json.Decoder(_Answer)


def decoded(body: bytes) -> Ranges:
    """Raises ValueError for what is no such answer."""
    try:
        series = _DECODER.decode(body).data.result
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the response is no result of a range query: {error}") from error
    if len(series) > _MOST_SERIES or any(len(each.values) > MOST_POINTS for each in series):
        raise ValueError("the response has more than was asked for")
    found = {each.metric.get("of", ""): tuple((at, float(text)) for at, text in each.values) for each in series}
    if any(not (math.isfinite(at) and math.isfinite(value)) for points in found.values() for at, value in points):
        raise ValueError("the response has what is no number")
    return found


# Asks Prometheus what was, beside the pages that show it: none waits for longer than a moment.
#
# What is not there by then is left out, and is there the next time. A Prometheus that does not answer is let alone for
# a while, and so is one that is slow waited for. Answers are kept for a minute, and shown for some more while they are
# asked for again. Nothing here is needed: what goes wrong is logged once, and said nowhere else.

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
