"""The findings in their order, filtered, and encoded: in slices, between which the event loop goes on.

The encoded findings are kept compressed, which takes a tenth of the memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import merge
from itertools import islice

import msgspec
from isal import isal_zlib

from ..engine.engine import Engine
from ..findings import Finding
from ..views.findings import Filter, Report, field_of, order, reported, surroundings
from ..views.repairs import reconcile_of
from .shared import Shared, Versions

__all__ = ["CHOICES", "Encoded", "Listing", "Overview"]

CHOICES = ("severity", "check", "reason", "namespace", "network", "feature")
_SLICE = 1000  # findings looked at between two looks at the event loop
_PART = 50  # findings encoded at once
_ENCODE = msgspec.json.Encoder().encode
_FINDINGS = b'"findings":['


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
    def __init__(self, engine: Engine, versions: Versions) -> None:
        self._engine, self._versions = engine, versions
        self._chosen = Shared[Filter, list[Finding]](lambda: versions.findings, lambda each: 8 * len(each))
        self._overview = Shared[None, Overview](lambda: versions.findings)
        self._encoded = Shared[Filter, tuple[object, Encoded]](
            lambda: versions.reports, lambda each: sum(map(len, each[1].findings))
        )

    async def chosen(self, wanted: Filter) -> list[Finding]:
        """The worst first, then by namespace and name."""
        return await self._chosen.get(wanted, lambda: self._choose(wanted))

    async def _choose(self, wanted: Filter) -> list[Finding]:
        runs, rest = [], enumerate(list(self._engine.findings()))
        while run := list(islice(rest, _SLICE)):
            runs.append(sorted((order(each), at, each) for at, each in run if wanted.wants(each)))
            await asyncio.sleep(0)
        found: list[Finding] = []
        ordered = (finding for _, _, finding in merge(*runs))
        while part := list(islice(ordered, _SLICE)):
            found += part
            await asyncio.sleep(0)
        return found

    async def overview(self) -> Overview:
        return await self._overview.get(None, self._look_over)

    async def _look_over(self) -> Overview:
        counts: Counter[str] = Counter()
        offered: dict[str, set[str]] = {name: set() for name in CHOICES}
        for at, finding in enumerate(list(self._engine.findings())):
            counts[finding.severity.value] += 1
            for name, values in offered.items():
                values.add(field_of(finding, name))
            if at % _SLICE == 0:
                await asyncio.sleep(0)
        return Overview(counts, offered)

    async def encoded(self, wanted: Filter) -> Encoded:
        """The report of one moment: the findings that were there, and what surrounded them."""
        version, encoded = await self._encoded.get(wanted, lambda: self._encode(wanted))
        if version == self._versions.reports:
            generation, frame = self._frame()
            return replace(encoded, generation=generation, frame=frame)
        return encoded

    def _frame(self) -> tuple[int, tuple[bytes, bytes]]:
        before, after = _ENCODE(self._surroundings()).split(_FINDINGS, 1)
        return self._engine.generation, (before + _FINDINGS, after)

    def _surroundings(self) -> Report:
        return msgspec.structs.replace(surroundings(self._engine), reconcile=reconcile_of(self._versions.repairs))

    async def _encode(self, wanted: Filter) -> tuple[object, Encoded]:
        version, (generation, frame) = self._versions.reports, self._frame()
        parts, length, digest = [], 0, blake2b(digest_size=16)
        rest = iter(await self.chosen(wanted))
        while run := tuple(islice(rest, _PART)):
            part = b",".join(_ENCODE(reported(*self._versions.report_of(each))) for each in run)
            part = b"," + part if length else part
            length += len(part)
            digest.update(part)
            parts.append(isal_zlib.compress(part, 1))
            await asyncio.sleep(0)
        return version, Encoded(generation, frame, tuple(parts), length, digest.digest())
