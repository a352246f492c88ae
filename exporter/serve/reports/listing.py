"""The findings in their order, filtered, and encoded: in slices, between which the event loop goes on.

The encoded findings are kept compressed, which takes a tenth of the memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import merge
from itertools import islice
from typing import Protocol

import msgspec
from isal import isal_zlib
from msgspec import UNSET, UnsetType

from ...engine.causes import CauseStore, Count
from ...engine.engine import Engine
from ...engine.open_cause import OpenCause
from ...facts.record import Ref
from ...findings.causes import Acknowledgement
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...questions.causes import CauseReport, HistoryReport, KnownCause, cause_order, known_causes, reports
from ...questions.findings import Filter, FindingReport, Report, order, reported, surroundings
from ...questions.repairs import reconcile_of
from ...questions.selection import ANYTHING, Counts, Selection, counting
from ..server.sending import as_json
from .result_cache import MOST_SIZE, Shared, Versions

# What there is to be listed for a viewer: the findings as they may be shown, and what surrounds them.


class Picture(Protocol):
    @property
    def version(self) -> Hashable:
        """The findings are the same as before if it is."""

    @property
    def reports(self) -> Hashable:
        """So is all that is reported."""

    async def findings(self) -> Sequence[Finding]: ...
    def report_of(self, finding: Finding) -> FindingReport: ...
    def surroundings(self) -> Report: ...


class Fleet:
    """Everything."""

    def __init__(self, engine: Engine, versions: Versions) -> None:
        self._engine, self._versions = engine, versions
        self._surroundings: tuple[Hashable, Report | None] = (None, None)  # of which version

    @property
    def version(self) -> Hashable:
        return self._versions.findings

    @property
    def reports(self) -> Hashable:
        return self._versions.reports

    async def findings(self) -> Sequence[Finding]:
        return list(self._engine.findings())

    def report_of(self, finding: Finding) -> FindingReport:
        return reported(*self._versions.report_of(finding))

    def surroundings(self) -> Report:
        version = self._versions.everything, self._engine.ready
        before, made = self._surroundings
        if made is None or before != version:
            made = surroundings(self._engine)
            self._surroundings = version, made
        return msgspec.structs.replace(made, reconcile=reconcile_of(self._versions.repairs))


_SLICE = 1000  # findings looked at between two looks at the event loop
_PART = 50  # findings encoded at once
_ROWS = 200  # causes between two looks at the event loop
_FINDINGS = b'"findings":['


class Chooser(Hashable, Protocol):
    """Which findings are wanted: the filter of the API, or the selection of a page."""

    def wants(self, finding: Finding) -> bool: ...


@dataclass(frozen=True)
class Encoded:
    """A report as JSON. `frame` is what stands before and after the findings."""

    generation: int
    frame: tuple[bytes, bytes]
    findings: tuple[bytes, ...]  # compressed
    findings_length: int
    findings_digest: bytes

    @property
    def length(self) -> int:
        return self.findings_length + sum(map(len, self.frame))

    @property
    def digest(self) -> str:
        """16 hex digits of all that is in it."""
        return blake2b(b"\0".join((*self.frame, self.findings_digest)), digest_size=8).hexdigest()

    async def parts(self) -> AsyncIterator[bytes]:
        yield self.frame[0]
        for packed in self.findings:
            yield isal_zlib.decompress(packed)
            await asyncio.sleep(0)
        yield self.frame[1]


class Listing:
    """Of everything. The generation is the engine's."""

    def __init__(self, engine: Engine, picture: Picture, most_size: int = MOST_SIZE) -> None:
        self._engine, self._picture = engine, picture
        self._chosen = Shared[Chooser, list[Finding]](lambda: picture.version, lambda each: 8 * len(each))
        self._causes = Shared[Chooser, list[CauseReport]](
            lambda: (picture.version, self.acknowledged()), lambda each: 1000 * len(each)
        )
        self._counts = Shared[Selection, Counts](lambda: picture.version)
        self._encoded = Shared[Filter, tuple[object, Encoded]](
            lambda: picture.reports, lambda each: sum(map(len, each[1].findings)), most_size
        )

    async def generation(self) -> int:
        return self._engine.generation

    def report_of(self, finding: Finding) -> FindingReport:
        return self._picture.report_of(finding)

    def surroundings(self, generation: int) -> Report:
        """All but the findings."""
        return msgspec.structs.replace(self._picture.surroundings(), generation=generation)

    async def chosen(self, wanted: Chooser) -> list[Finding]:
        """The worst first, then by namespace and name."""
        return await self._chosen.get(wanted, lambda: self._choose(wanted))

    async def _choose(self, wanted: Chooser) -> list[Finding]:
        runs, rest = [], enumerate(await self._picture.findings())
        while run := list(islice(rest, _SLICE)):
            runs.append(sorted((order(each), at, each) for at, each in run if wanted.wants(each)))
            await asyncio.sleep(0)
        found: list[Finding] = []
        ordered = (finding for _, _, finding in merge(*runs))
        while part := list(islice(ordered, _SLICE)):
            found += part
            await asyncio.sleep(0)
        return found

    async def causes(self, wanted: Chooser) -> list[CauseReport]:
        """Those of what is chosen, in their order."""
        return await self._causes.get(wanted, lambda: self._count(wanted))

    async def ended(self) -> list[CauseReport]:
        """Those whose last finding closed within the last hour, the last ones, where that is known."""
        return []

    def history(self) -> HistoryReport | UnsetType:
        """What opened and closed in all; UNSET where nobody counts that."""
        return UNSET

    async def _count(self, wanted: Chooser) -> list[CauseReport]:
        store = CauseStore(self._engine.checks, self._engine.clock)
        rest = iter(await self.chosen(wanted))
        while part := tuple(islice(rest, _SLICE)):
            store.update((), part, counts=False)
            await asyncio.sleep(0)
        return await self._reported(store, None)

    async def _reported(self, causes: Iterable[OpenCause], changes: Callable[[str], Count] | None) -> list[CauseReport]:
        made = []
        for each in reports(causes, self._engine.checks, changes, self._engine.restraints.applied, self._known):
            made.append(each)
            if len(made) % _ROWS == 0:
                await asyncio.sleep(0)
        return sorted(made, key=cause_order)

    def acknowledged(self) -> tuple[Acknowledgement, ...]:
        """Those whose time is not over: once it is, causes are reported otherwise."""
        return self._engine.acknowledged.holding(self._engine.clock())

    def _known(self, cause: str, severity: Severity) -> Acknowledgement | None:
        """As the viewer may see it."""
        return self._engine.known(cause, severity)

    def known_causes(self) -> tuple[KnownCause, ...]:
        """What each entry of the configuration comes to."""
        engine = self._engine
        return known_causes(engine.acknowledged, engine.causes.severity_of, engine.clock())

    async def of_cause(self, cause: str, wanted: Chooser) -> Sequence[Finding]:
        """The findings of one cause among what is chosen, in their order."""
        return [each for each in await self.chosen(wanted) if each.cause == cause]

    async def cause(self, cause: str) -> CauseReport | None:
        """That with an id; None where it has no finding."""
        return next((each for each in await self.causes(Filter()) if each.cause == cause), None)

    async def counts(self, wanted: Selection) -> Counts:
        """How many findings have each value of each facet."""
        return await self._counts.get(wanted, lambda: self._count_values(wanted))

    async def _count_values(self, wanted: Selection) -> Counts:
        counts: Counts = {}
        for _ in counting(await self._picture.findings(), wanted, counts, _SLICE):
            await asyncio.sleep(0)
        return counts

    async def severities(self) -> Counter[str]:
        """How many findings there are of each severity."""
        return (await self.counts(ANYTHING))["severity"]

    async def find(self, fingerprint: str) -> Finding | None:
        return next((each for each in await self.chosen(Filter()) if each.fingerprint == fingerprint), None)

    async def about(self, ref: Ref) -> list[Finding]:
        """The findings whose subject an object is, the worst first."""
        key = (ref.kind, ref.namespace, ref.name)
        every = await self.chosen(Filter())
        return [each for each in every if (each.subject.kind, each.subject.namespace, each.subject.name) == key]

    async def of_vm(self, namespace: str, name: str) -> list[Finding]:
        """The findings about one VM, the worst first."""
        every = await self.chosen(Filter())
        return [each for each in every if each.vm == name and each.subject.namespace == namespace]

    async def encoded(self, wanted: Filter) -> Encoded:
        """The report of one moment: the findings that were there, and what surrounded them."""
        version, encoded = await self._encoded.get(wanted, lambda: self._encode(wanted))
        if version == self._picture.reports:
            generation = await self.generation()
            return replace(encoded, generation=generation, frame=self._frame(generation))
        return encoded

    def _frame(self, generation: int) -> tuple[bytes, bytes]:
        before, after = as_json(self.surroundings(generation)).split(_FINDINGS, 1)
        return before + _FINDINGS, after

    async def _encode(self, wanted: Filter) -> tuple[object, Encoded]:
        generation = await self.generation()
        version, frame = self._picture.reports, self._frame(generation)
        parts, length, digest = [], 0, blake2b(digest_size=16)
        rest = iter(await self.chosen(wanted))
        while run := tuple(islice(rest, _PART)):
            part = b",".join(as_json(self.report_of(each)) for each in run)
            part = b"," + part if length else part
            length += len(part)
            digest.update(part)
            parts.append(isal_zlib.compress(part, 1))
            await asyncio.sleep(0)
        return version, Encoded(generation, frame, tuple(parts), length, digest.digest())
