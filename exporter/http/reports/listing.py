"""The findings in their order, filtered, and encoded: in slices, between which the event loop goes on.

The encoded findings are kept compressed, which takes a tenth of the memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import merge
from itertools import islice

import msgspec
from isal import isal_zlib
from msgspec import UNSET

from ...engine.cause_store import CauseStore
from ...engine.engine import Engine
from ...engine.open_cause import OpenCause
from ...findings.finding import Finding
from ...store.kinds.namespace import Namespace
from ...views.causes import CauseReport, cause_order, reports
from ...views.findings import Filter, FindingReport, Report, field_of, order
from ..access.proofs import Proofs
from ..access.viewer import Visible
from .everyone import Fleet, Picture
from .result_cache import MOST_SIZE, Shared, Versions
from .tenant import ByNamespace, Tenant

__all__ = ["CHOICES", "Encoded", "Listing", "Listings", "Overview"]

CHOICES = ("severity", "check", "reason", "namespace", "network", "feature")
_SLICE = 1000  # findings looked at between two looks at the event loop
_PART = 50  # findings encoded at once
_MINUTE = 60.0
_ROWS = 200  # causes between two looks at the event loop
_ENCODE = msgspec.json.Encoder().encode
_FINDINGS = b'"findings":['
_MOST_TENANTS = 64  # whose listings are kept
_MOST_SIZE_OF_TENANT = 1 << 20  # bytes of encoded findings that are kept for one


@dataclass(frozen=True)
class Overview:
    """How many findings there are of each severity, and which values they have, by the name of the filter."""

    counts: Counter[str]
    offered: dict[str, set[str]]


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
        self._chosen = Shared[Filter, list[Finding]](lambda: picture.version, lambda each: 8 * len(each))
        self._causes = Shared[Filter, list[CauseReport]](lambda: picture.version, lambda each: 1000 * len(each))
        self._overview = Shared[None, Overview](lambda: picture.version)
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

    async def chosen(self, wanted: Filter) -> list[Finding]:
        """The worst first, then by namespace and name."""
        return await self._chosen.get(wanted, lambda: self._choose(wanted))

    async def _choose(self, wanted: Filter) -> list[Finding]:
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

    async def causes(self, wanted: Filter) -> list[CauseReport]:
        """Those of what is chosen, in their order."""
        return await self._causes.get(wanted, lambda: self._count(wanted))

    async def ended(self) -> list[CauseReport]:
        """Those whose last finding closed within the last hour, where that is known."""
        return []

    async def _count(self, wanted: Filter) -> list[CauseReport]:
        store = CauseStore(self._engine.checks, self._engine.clock)
        rest = iter(await self.chosen(wanted))
        while part := tuple(islice(rest, _SLICE)):
            store.update((), part, counts=False)
            await asyncio.sleep(0)
        return await self._reported(store, None)

    async def _reported(self, causes: Iterable[OpenCause], now: float | None) -> list[CauseReport]:
        made = []
        for each in reports(causes, self._engine.checks, now, self._engine.restraints.applied):
            made.append(each)
            if len(made) % _ROWS == 0:
                await asyncio.sleep(0)
        return sorted(made, key=cause_order)

    async def overview(self) -> Overview:
        return await self._overview.get(None, self._look_over)

    async def _look_over(self) -> Overview:
        counts: Counter[str] = Counter()
        offered: dict[str, set[str]] = {name: set() for name in CHOICES}
        for at, finding in enumerate(await self._picture.findings()):
            counts[finding.severity.value] += 1
            for name, values in offered.items():
                values.add(field_of(finding, name))
            if at % _SLICE == 0:
                await asyncio.sleep(0)
        return Overview(counts, offered)

    async def encoded(self, wanted: Filter) -> Encoded:
        """The report of one moment: the findings that were there, and what surrounded them."""
        version, encoded = await self._encoded.get(wanted, lambda: self._encode(wanted))
        if version == self._picture.reports:
            generation = await self.generation()
            return replace(encoded, generation=generation, frame=self._frame(generation))
        return encoded

    def _frame(self, generation: int) -> tuple[bytes, bytes]:
        before, after = _ENCODE(self.surroundings(generation)).split(_FINDINGS, 1)
        return before + _FINDINGS, after

    async def _encode(self, wanted: Filter) -> tuple[object, Encoded]:
        generation = await self.generation()
        version, frame = self._picture.reports, self._frame(generation)
        parts, length, digest = [], 0, blake2b(digest_size=16)
        rest = iter(await self.chosen(wanted))
        while run := tuple(islice(rest, _PART)):
            part = b",".join(_ENCODE(self.report_of(each)) for each in run)
            part = b"," + part if length else part
            length += len(part)
            digest.update(part)
            parts.append(isal_zlib.compress(part, 1))
            await asyncio.sleep(0)
        return version, Encoded(generation, frame, tuple(parts), length, digest.digest())


class WholeListing(Listing):
    """Of everything: the engine keeps the causes, and counts what opens and closes of them by the minute."""

    def __init__(self, engine: Engine, picture: Picture) -> None:
        super().__init__(engine, picture)
        self._kept = Shared[bool, list[CauseReport]](
            lambda: (engine.causes.version, engine.clock() // _MINUTE), lambda each: 1000 * len(each)
        )

    async def causes(self, wanted: Filter) -> list[CauseReport]:
        if wanted != Filter():
            return await super().causes(wanted)
        return await self._kept.get(True, self._open)

    async def ended(self) -> list[CauseReport]:
        return await self._kept.get(False, self._ended)

    # One may end, or come again, while the others are looked at.

    async def _open(self) -> list[CauseReport]:
        causes = (each for each in tuple(self._engine.causes) if each)
        return await self._reported(causes, self._engine.clock())

    async def _ended(self) -> list[CauseReport]:
        causes = (each for each in tuple(self._engine.causes.ended()) if not each)
        return await self._reported(causes, self._engine.clock())


class TenantListing(Listing):
    """Of what a tenant may see. The generation is a hash of that, so that it says nothing of anything else."""

    def __init__(self, engine: Engine, picture: Picture) -> None:
        super().__init__(engine, picture, _MOST_SIZE_OF_TENANT)
        self._generation = Shared[None, int](lambda: picture.reports)

    async def encoded(self, wanted: Filter) -> Encoded:
        return (await self._encoded.get(wanted, lambda: self._encode(wanted)))[1]

    async def generation(self) -> int:
        return await self._generation.get(None, self._hash)

    async def _hash(self) -> int:
        digest = blake2b(_ENCODE(self.surroundings(0)), digest_size=8)
        for at, finding in enumerate(await self.chosen(Filter())):
            digest.update(_ENCODE(_without_repairs(self.report_of(finding))))
            if at % _PART == 0:
                await asyncio.sleep(0)
        return int.from_bytes(digest.digest()) >> 12  # JSON's whole numbers have 52 bits


def _without_repairs(report: FindingReport) -> FindingReport:
    """They change the ETag, and end no wait."""
    return msgspec.structs.replace(report, repairs=UNSET)


class Listings:
    """That of each viewer."""

    def __init__(self, engine: Engine, versions: Versions) -> None:
        self._engine, self._versions = engine, versions
        self._everything = WholeListing(engine, Fleet(engine, versions))
        self._by_namespace, self._proofs = ByNamespace(engine), Proofs(engine)
        self._tenants: OrderedDict[Visible, TenantListing] = OrderedDict()

    def namespaces(self) -> set[str]:
        """All that are known."""
        return {*self._by_namespace.namespaces(), *(each.name for each in self._engine.cluster.all(Namespace))}

    def uid_of(self, namespace: str) -> str:
        """Empty for one that is not known."""
        found = self._engine.cluster.get(Namespace, namespace, namespace)
        return found.uid if found is not None else ""

    def of(self, visible: Visible | None) -> Listing:
        """None is whoever sees everything."""
        if visible is None:
            return self._everything
        if visible not in self._tenants:
            picture = Tenant(self._engine, self._versions, (self._by_namespace, self._proofs), visible)
            self._tenants[visible] = TenantListing(self._engine, picture)
        self._tenants.move_to_end(visible)
        while len(self._tenants) > _MOST_TENANTS:
            self._tenants.popitem(last=False)
        return self._tenants[visible]
