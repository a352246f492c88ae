"""The listing of each viewer: of whoever sees everything, and of tenants."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice

import msgspec
from msgspec import UNSET, UnsetType

from ...engine.engine import Engine
from ...facts.record import Ref
from ...findings.causes import Acknowledgement
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...questions.causes import CauseReport, HistoryReport, KnownCause, ended, history_of
from ...questions.finding_index import FindingIndex
from ...questions.findings import Filter, FindingReport, order
from ...questions.selection import Counts, Selection
from ...store.kinds.namespace import Namespace
from ..access.viewer import Proofs, Visible
from .listing import Chooser, Encoded, Fleet, Listing, Picture
from .result_cache import Shared, Versions
from .tenant import ByNamespace, Tenant

_PART = 50  # findings encoded at once
_MOST_ENDED = 100  # causes that are named
_MINUTE = 60.0
_MOST_TENANTS = 64  # whose listings are kept
_MOST_SIZE_OF_TENANT = 1 << 20  # bytes of encoded findings that are kept for one
_ENCODE = msgspec.json.Encoder().encode


class WholeListing(Listing):
    """Of everything: the engine keeps the causes, and counts what opens and closes of them by the minute; an index has
    what is asked of single findings.
    """

    def __init__(self, engine: Engine, picture: Picture) -> None:
        super().__init__(engine, picture)
        self.index = FindingIndex(engine)
        self._kept = Shared[bool, list[CauseReport]](
            lambda: (engine.causes.version, engine.clock() // _MINUTE, self.acknowledged()),
            lambda each: 1000 * len(each),
        )

    async def causes(self, wanted: Chooser) -> list[CauseReport]:
        if wanted != Filter():
            return await super().causes(wanted)
        return await self._kept.get(True, self._open)

    async def of_cause(self, cause: str, wanted: Chooser) -> Sequence[Finding]:
        if wanted != Filter():
            return await super().of_cause(cause, wanted)
        kept = self._engine.causes.get(cause)
        return sorted(kept or (), key=order)

    async def cause(self, cause: str) -> CauseReport | None:
        kept = self._engine.causes.get(cause)
        found = await self._reported((kept,), self._engine.causes.changes) if kept else []
        return next(iter(found), None)

    async def counts(self, wanted: Selection) -> Counts:
        return self.index.counts(wanted.moment) if wanted.anything else await super().counts(wanted)

    async def severities(self) -> Counter[str]:
        return self.index.severities()

    async def find(self, fingerprint: str) -> Finding | None:
        return self.index.get(fingerprint)

    async def about(self, ref: Ref) -> list[Finding]:
        return sorted(self.index.about(ref), key=order)

    async def of_vm(self, namespace: str, name: str) -> list[Finding]:
        return sorted(self.index.of_vm(namespace, name), key=order)

    async def ended(self) -> list[CauseReport]:
        return await self._kept.get(False, self._ended)

    def history(self) -> HistoryReport | UnsetType:
        return history_of(self._engine.causes.history, self._engine.clock())

    async def _open(self) -> list[CauseReport]:
        causes = (each for each in tuple(self._engine.causes) if each)  # one may end while the others are looked at
        return await self._reported(causes, self._engine.causes.changes)

    async def _ended(self) -> list[CauseReport]:
        causes = self._engine.causes
        return list(ended(islice(causes.ended(), _MOST_ENDED), self._engine.checks, causes.changes))


class TenantListing(Listing):
    """Of what a tenant may see. The generation is a hash of that, so that it says nothing of anything else."""

    def __init__(self, engine: Engine, picture: Picture) -> None:
        super().__init__(engine, picture, _MOST_SIZE_OF_TENANT)
        self._generation = Shared[None, int](lambda: picture.reports)

    def _known(self, cause: str, severity: Severity) -> Acknowledgement | None:
        """Without words, which may name anything."""
        found = super()._known(cause, severity)
        return None if found is None else msgspec.structs.replace(found, because="", by="")

    def known_causes(self) -> tuple[KnownCause, ...]:
        return ()

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

    @property
    def index(self) -> FindingIndex:
        """Of everything."""
        return self._everything.index

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
