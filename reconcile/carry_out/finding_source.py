"""Where findings come from: the exporter's API, or an exporter in this process. They are hints, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import msgspec

from exporter.engine.engine import Engine
from exporter.facts.record import Ref
from exporter.findings.finding import Finding, Unknown
from exporter.kube.errors import MALFORMED
from exporter.kube.get_json import GetError, JSONServer
from exporter.questions.findings import NotApplicable, fleet_of

from ..decide.repair import Found, Hint

_PATH = "/api/v1/findings"
_BODY_BYTES = 512 * 2**20
_WAIT_SECONDS = 30


class SourceError(Exception):
    """The findings can't be had; the text is one sentence."""


@dataclass(frozen=True)
class Observed:
    """What is found now. `unknown` has the checks that have no answer for the whole cluster, `unanswered` where there
    is no answer and why, `not_applicable` why a check has nothing to look at; `fleet` is the number of VMs, None where
    nobody knows; `age` (seconds) that of the oldest kind that is not current, 0 while all are.
    """

    findings: tuple[Found, ...]
    unknown: frozenset[str] = frozenset()
    ready: bool = True
    fleet: int | None = None
    age: float = 0.0
    generation: int = 0
    by_fingerprint: Mapping[str, Found] = field(default_factory=dict)
    unanswered: tuple[Unknown, ...] = ()
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_fingerprint", {each.hint.fingerprint: each for each in self.findings})


class FindingSource(Protocol):
    async def observed(self) -> Observed:
        """What is found now. Raises SourceError."""

    async def changed(self, seconds: float) -> None:
        """Returns when something may have changed since, after so many seconds at the latest."""


class EngineSource:
    """An exporter in this process."""

    def __init__(self, engine: Engine, clock: Any) -> None:
        self._engine, self._clock = engine, clock

    async def observed(self) -> Observed:
        engine = self._engine
        fleet, unanswered = fleet_of(engine.cluster), tuple(engine.unknowns())
        return Observed(
            tuple(_found(each) for each in engine.findings()),
            frozenset(each.check for each in unanswered if not each.partition),
            engine.ready,
            fleet.virtual_machines,
            self._clock() - _epoch(fleet.out_of_date_since) if fleet.out_of_date_since else 0.0,
            engine.generation,
            unanswered=unanswered,
            not_applicable=engine.not_applicable(),
        )

    async def changed(self, seconds: float) -> None:
        before = self._engine.generation
        try:
            async with asyncio.timeout(seconds), self._engine.changed:
                await self._engine.changed.wait_for(lambda: self._engine.generation != before)
        except TimeoutError:
            return


def _found(finding: Finding) -> Found:
    return Found(
        Hint.of(finding), finding.severity, finding.message, finding.vm, finding.since, finding.unknown, finding.cause
    )


class _Subject(msgspec.Struct, frozen=True):
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class _Finding(msgspec.Struct, frozen=True):
    check: str
    reason: str
    severity: str
    subject: _Subject
    message: str
    fingerprint: str
    vm: str = ""
    since: str | None = None
    unknown: str = ""
    cause: str = ""


class _Fleet(msgspec.Struct, frozen=True, rename="camel"):
    virtual_machines: int | None = None
    out_of_date_since: str = ""  # RFC 3339; empty while everything is current


class _Report(msgspec.Struct, frozen=True, rename="camel"):
    """What /api/v1/findings answers, as far as it is read."""

    generation: int
    findings: list[_Finding]
    unknown: list[Unknown]
    ready: bool
    fleet: _Fleet
    not_applicable: list[NotApplicable] = []


_REPORT = msgspec.json.Decoder(_Report)


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class ExporterSource:
    """The API of an exporter."""

    def __init__(self, exporter: JSONServer, clock: Callable[[], float]) -> None:
        self._exporter, self._clock = exporter, clock
        self._generation: int | None = None

    async def observed(self) -> Observed:
        report = await self._report()
        self._generation = report.generation
        try:
            return self._observed(report)
        except (ValueError, OverflowError) as error:
            raise SourceError(f"the findings at {self._exporter.url} can't be read: {error}") from error

    def _observed(self, report: _Report) -> Observed:
        """Raises ValueError or OverflowError for a time that is none."""
        return Observed(
            tuple(
                Found(
                    Hint(each.check, each.reason, Ref(**msgspec.structs.asdict(each.subject)), each.fingerprint),
                    each.severity,
                    each.message,
                    each.vm,
                    _epoch(each.since) if each.since else None,
                    each.unknown,
                    each.cause,
                )
                for each in report.findings
            ),
            frozenset(each.check for each in report.unknown if not each.partition),
            report.ready,
            report.fleet.virtual_machines,
            self._clock() - _epoch(report.fleet.out_of_date_since) if report.fleet.out_of_date_since else 0.0,
            report.generation,
            unanswered=tuple(report.unknown),
            not_applicable={each.check: each.why for each in report.not_applicable},
        )

    async def changed(self, seconds: float) -> None:
        if self._generation is None:
            return
        try:
            wait = str(int(min(seconds, _WAIT_SECONDS)))
            await self._report({"wait": wait, "generation": str(self._generation)}, int(wait) + 10.0)
        except SourceError:
            await asyncio.sleep(seconds)  # the next look says what is wrong

    async def _report(self, query: Mapping[str, str] | None = None, seconds: float = 30.0) -> _Report:
        try:
            return _REPORT.decode(await self._exporter.get(_PATH, query, seconds=seconds, most=_BODY_BYTES))
        except (GetError, *MALFORMED) as error:
            raise SourceError(f"can't read the findings at {self._exporter.url}: {error}") from error
