"""Reads of the API server that no cache answers: one object, or a whole list, without a resourceVersion.

Only the API server's NotFound proves that an object does not exist: any other failure is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from exporter.facts.nesting import decoded
from exporter.kube.client import Client
from exporter.kube.errors import MALFORMED, AbsentError, KubeError, MalformedError, StatusError
from exporter.kube.get_json import ListBounds, whole
from exporter.kube.transport import Transport
from exporter.store.decode import NameMeta
from exporter.store.kind import ApiKind
from exporter.store.reader import Reader
from exporter.store.source import SyncState

from ..fresh import FreshCluster, Need
from ..plan.plan import Refused

T = TypeVar("T")
Raw = TypeVar("Raw", bytes, msgspec.Raw)
APPLY_ROLE = "apply what `steward reconcile role` prints for the configuration"
_READ_SECONDS = 30.0
_OBJECT_BYTES = 16 * 2**20
_PAGE_BYTES = 256 * 2**20
_PAGE = 500
_RESTARTS = 3
_METADATA = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"}

LONG = ("VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceMigration", "Pod")
"""Kinds of which a cluster may have so many that only those of a namespace are read once more."""

ELSEWHERE = ("Restore", "Backup")
"""Kinds whose objects are about other namespaces than their own, so that they are all read once more: Velero's."""

# Whoever uses something is read after it: what is born in between only makes it look more used. What saves or restores
# a VM is read last of all: it is there before anything that it does.
USERS = (
    *LONG,
    *("VirtualMachineSnapshot", "VirtualMachineBackup", "VirtualMachineClone", "VirtualMachineRestore"),
    *reversed(ELSEWHERE),
)


class Reads(Protocol):
    """Where objects are read: the API server, or the objects of a test."""

    async def served(self, kind: ApiKind[Any]) -> str:
        """The version that is served. Raises AbsentError where there is none, KubeError."""

    async def get(self, kind: ApiKind[Any], version: str, namespace: str, name: str) -> bytes | None:
        """One object; None where it does not exist. Raises KubeError."""

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        """All objects of a kind in a namespace, in all where it is None. Raises KubeError."""


class _Meta(msgspec.Struct, frozen=True):
    rest: str | None = msgspec.field(name="continue", default=None)
    remaining: int | None = msgspec.field(name="remainingItemCount", default=None)


class _List(msgspec.Struct, frozen=True):
    kind: str
    metadata: _Meta = _Meta()
    items: list[msgspec.Raw] | None = None


_LIST = msgspec.json.Decoder(_List)


def object_path(kind: ApiKind[Any], version: str, namespace: str | None, name: str = "") -> str:
    """The URL path of an object, or of the list of a kind."""
    within = f"/namespaces/{namespace}" if kind.namespaced and namespace else ""
    return f"{kind.base(version)}{within}/{kind.plural}" + (f"/{name}" if name else "")


def document(raw: bytes | msgspec.Raw) -> dict[str, Any]:
    """One object, whole. Raises MalformedError for what is none, or is nested too deep."""
    try:
        found: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    except RecursionError as error:
        raise MalformedError("an object is nested too deep to be read whole") from error
    except MALFORMED as error:
        raise MalformedError(f"the response isn't an object: {error}") from error
    return found


class ApiReads:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._client = Client(transport)
        self._versions: dict[str, str] = {}

    async def served(self, kind: ApiKind[Any]) -> str:
        # That a kind is not served is asked each time; a version that is not served any more fails when it is read.
        if kind.name not in self._versions:
            self._versions[kind.name] = await self._client.served_version(kind)
        return self._versions[kind.name]

    async def get(self, kind: ApiKind[Any], version: str, namespace: str, name: str) -> bytes | None:
        try:
            return await self._body(object_path(kind, version, namespace, name), (), _OBJECT_BYTES)
        except StatusError as error:
            if error.not_found:
                return None
            self._versions.pop(kind.name, None)
            raise

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        for _ in range(_RESTARTS):
            try:
                return await self._snapshot(object_path(kind, version, namespace), kind.selectors)
            except StatusError as error:
                if error.code != 410:
                    self._versions.pop(kind.name, None)
                    raise
        raise MalformedError(f"the list of {kind.resource} expired between two pages {_RESTARTS} times in a row")

    async def counted(self, kind: ApiKind[Any], version: str, namespace: str | None) -> int:
        """How many objects of a kind there are in a namespace, in all where it is None. Raises KubeError.

        By a list of one object: the API server says how many remain, where nothing is selected.
        """
        path = object_path(kind, version, namespace)
        page = _page(path, await self._body(path, (("limit", "1"),), _PAGE_BYTES, _METADATA))
        if page.metadata.rest and page.metadata.remaining is None:
            raise MalformedError(f"GET {path} was answered with a part that does not say how many remain")
        return len(page.items or ()) + max(0, page.metadata.remaining or 0)

    async def _snapshot(self, path: str, selectors: tuple[tuple[str, str], ...]) -> list[msgspec.Raw]:
        found: list[msgspec.Raw] = []
        bounds, rest = ListBounds(path), ""
        while True:
            query = [*selectors, ("limit", str(_PAGE)), *((("continue", rest),) if rest else ())]
            page = _page(path, await self._body(path, query, _PAGE_BYTES))
            rest = page.metadata.rest or ""
            bounds.add_page(len(page.items or ()), rest)
            found += page.items or ()
            if not rest:
                return found
            await asyncio.sleep(0)

    async def _body(self, path: str, query: Any, most: int, headers: Mapping[str, str] | None = None) -> bytes:
        async with self._transport.open("GET", path, query, headers, read_seconds=_READ_SECONDS) as response:
            return await whole(response, most)


def _page(path: str, body: bytes) -> _List:
    """Raises MalformedError for what is no list."""
    try:
        page = _LIST.decode(body)
    except MALFORMED as error:
        raise MalformedError(f"GET {path} was not answered with a list: {error}") from error
    none = page.items is None and page.kind != "PartialObjectMetadataList"  # of these an empty one has null
    if none or not page.kind.endswith("List"):
        raise MalformedError(f"GET {path} was answered with {page.kind}, which isn't a list")
    return page


async def settled(
    ask: Callable[[FreshCluster], T | Refused],
    readers: tuple[Reader, ...],
    reads: Reads,
    assumed: str = "",
    again: Callable[[T], str] | None = None,
) -> T | Refused:
    """What is answered of what the readers declare, once all that was asked for is read. Each round reads something
    that was not read, and the last one asks for nothing. Never raises for what the API answers.

    `assumed` is the version to take KubeVirt for, empty for the one that it reports. With `again` what is quick to read
    is read twice, after a call of it, which names the namespace that the answer is about.
    """
    kinds = kinds_of(readers)
    cluster = FreshCluster(kinds.values(), (index for reader in readers for index in reader.indexes), assumed)
    versions = await _survey(cluster, reads, kinds)
    while True:
        answer = ask(cluster)
        needs = cluster.take_needs()  # what indexes were read through since the last answer is needed too
        if not needs:
            if again is None or isinstance(answer, Refused):
                return answer
            needs, again = cluster.quick(LONG, again(answer), ELSEWHERE), None
        elif all(map(cluster.was_read, needs)):
            return Refused("everything_seen", f"what is read has no end: {needs[0]} is asked for after it was read")
        await _satisfy(cluster, reads, kinds, versions, needs)


def kinds_of(readers: tuple[Reader, ...]) -> dict[str, ApiKind[Any]]:
    """What they read of the API server, by name."""
    declared = (kind for reader in readers for kind in (*reader.reads, *reader.requires))
    return {kind.name: kind for kind in declared if isinstance(kind, ApiKind)}


async def _survey(cluster: FreshCluster, reads: Reads, kinds: dict[str, ApiKind[Any]]) -> dict[str, str]:
    """The versions by the names of the kinds, once it is known which kinds are served; of others there are none."""
    versions = {}
    for kind in kinds.values():
        try:
            versions[kind.name] = await reads.served(kind)
        except AbsentError as error:
            cluster.served(kind, SyncState.ABSENT, str(error))
        except KubeError as error:
            cluster.served(kind, SyncState.FAILING, f"can't find out whether {kind.resource} is served: {error}")
        else:
            cluster.served(kind, SyncState.LIVE)
    return versions


async def _satisfy(
    cluster: FreshCluster, reads: Reads, kinds: dict[str, ApiKind[Any]], versions: dict[str, str], needs: list[Need]
) -> None:
    """Reads what is needed, what is used before its users. What can't be read makes its kind unknown."""
    for need in sorted(needs, key=lambda each: USERS.index(each.kind) if each.kind in USERS else -1):
        kind = kinds[need.kind]
        version = versions.get(kind.name)
        if version is None:
            cluster.found(need, kind, ())  # not served, or unknown by its sync state
            continue
        try:
            if need.name is None:
                listed = await reads.listed(kind, version, need.namespace)
                cluster.found(need, kind, [_asked_for(each, kind, need) for each in listed])
            else:
                found = await reads.get(kind, version, need.namespace or "", need.name)
                cluster.found(need, kind, () if found is None else (_asked_for(found, kind, need),))
        except KubeError as error:
            where = "in all namespaces" if need.namespace is None else f"in namespace {need.namespace}"
            what = f"list {kind.resource} {where}" if need.name is None else f"get {kind.resource} {need.name} {where}"
            forbidden = isinstance(error, StatusError) and error.code == 403
            hint = f"; {APPLY_ROLE}" if forbidden else ""
            cluster.served(kind, SyncState.FAILING, f"can't {what}: {error}{hint}")
            versions.pop(kind.name, None)
            cluster.found(need, kind, ())


class _Named(msgspec.Struct, frozen=True):
    kind: Any = None  # built-in objects have none in a list
    metadata: NameMeta = NameMeta()


_NAMED = msgspec.json.Decoder(_Named)


def _asked_for(raw: Raw, kind: ApiKind[Any], need: Need) -> Raw:
    """What was answered. Raises MalformedError for another object: it proves nothing of what was asked for."""
    try:
        found = decoded(_NAMED, raw)
    except MALFORMED as error:
        raise MalformedError(f"the response isn't a {kind.name}: {error}") from error
    said, meta = found.kind or kind.name, found.metadata
    another = said != kind.name or (need.name is not None and meta.name != need.name)
    if kind.namespaced and need.namespace is not None:
        another = another or meta.namespace != need.namespace
    if another or bool(meta.namespace) is not kind.namespaced:
        raise MalformedError(f"the response has {said} {meta.namespace or ''}/{meta.name}, which was not asked for")
    return raw
