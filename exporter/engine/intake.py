"""Where sources hand in what they see; the same for a live cluster and for a dump.

A list swaps the content of its kind: what is new, changed or gone goes to the engine, and nothing is evaluated until
that is done. Nothing here ever empties a store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from typing import Any, Protocol, TypeAlias, TypeVar

from ..facts.record import Record
from ..store.kind import ApiKind
from ..store.kinds import kube_virt
from ..store.kinds.kube_virt import KubeVirt
from ..store.source import FILE, Source, SyncState, Undecodable
from .engine import Engine
from .turn import Slice

_MOST = 500  # objects, whatever the timer says
_BETWEEN = 20  # objects between two looks at the timer
_Name: TypeAlias = tuple[str, str]  # after its namespace


class ReceivedObject(Protocol):
    """One object as a source saw it: `record` is None where nothing is kept of it; `why` where it can't be read."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def record(self) -> Record | None: ...
    @property
    def uid(self) -> str: ...
    @property
    def why(self) -> str: ...


Received = TypeVar("Received", bound=ReceivedObject)


class Intake:
    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock
        self._assumed = ""
        self._slice = Slice(engine.timer)  # of a kind that is swapped
        self._swapping = asyncio.Lock()  # two kinds at once would each take a slice of one turn of the event loop

    def assume(self, version: str) -> None:
        """Takes KubeVirt for one of an upstream version from now on; empty: for one of the version that it reports."""
        self._assumed = version
        for record in list(self._engine.cluster.all(KubeVirt)):
            self._engine.put(kube_virt.assuming(record, version))

    async def swap(self, kind: ApiKind[Any], latest: dict[_Name, Received]) -> None:
        """Takes in the whole of a kind, by namespace and name, after the kinds that came before it. Nothing is left in
        `latest` then: 100,000 objects that are let go of at once would block the event loop.
        """
        async with self._swapping:
            await self.at_rest()
            with self._engine.held():
                for done, (namespace, name) in enumerate(await self._known_beside(kind, latest), 1):
                    if not done % _BETWEEN:
                        await self._breathe(done)
                    self.gone(kind, namespace, name)
                names = [*reversed(latest)]
                for done in range(1, len(names) + 1):
                    if not done % _BETWEEN:
                        await self._breathe(done)
                    observed = latest.pop(names.pop())
                    self._forget_newer(observed)
                    self.seen(kind, observed)
                latest.clear()  # a dict keeps its table until then

    async def _known_beside(self, kind: ApiKind[Any], latest: Container[_Name]) -> Iterable[_Name]:
        """The objects of a kind that are known, and are not among the latest."""
        cluster = self._engine.cluster
        unreadable = [each for each in cluster.all(Undecodable) if each.kind == kind.name]
        names = ((each.namespace, each.object_name) for each in unreadable)
        found = dict.fromkeys(name for name in names if name not in latest)
        done = 0
        for namespace in cluster.namespaces(kind.record):
            for name in [record.name for record in cluster.within(kind.record, namespace)]:
                if (namespace, name) not in latest:
                    found[namespace, name] = None
                done += 1
                if not done % _BETWEEN:
                    await self._breathe(done)
        return found

    async def at_rest(self) -> None:
        """Until the next change may be handed in; one that is handed in earlier is taken in too, at a cost."""
        await self._engine.at_rest()

    def _forget_newer(self, observed: ReceivedObject) -> None:
        """A list is the truth, even where it is older than what we hold: an API server was restored from a backup."""
        record = observed.record
        held = self._engine.cluster.get(type(record), record.namespace, record.name) if record is not None else None
        if record is not None and held is not None and record.rv < held.rv:
            self._engine.remove(type(record), record.namespace, record.name)

    async def _breathe(self, done: int) -> None:
        if done % _MOST == 0 or self._slice.over:
            await self._slice.pause()

    def seen(self, kind: ApiKind[Any], observed: ReceivedObject) -> None:
        """Takes in one object. One that can't be read keeps the record of its last readable state."""
        namespace, name = observed.namespace, observed.name
        if observed.why:
            self._unreadable(kind, observed)
            return
        self._readable(kind, namespace, name)
        if observed.record is None:
            self._engine.remove(kind.record, namespace, name)
        elif isinstance(observed.record, KubeVirt):
            self._engine.put(kube_virt.assuming(observed.record, self._assumed))
        else:
            self._engine.put(observed.record)

    def gone(self, kind: ApiKind[Any], namespace: str, name: str, version: int = 0) -> None:
        """Takes in a deletion; one that is older than what we hold was overtaken by a new object of the name."""
        self._readable(kind, namespace, name)
        held = self._engine.cluster.get(kind.record, namespace, name)
        if held is not None and not 0 < version < held.rv:
            self._engine.remove(kind.record, namespace, name)

    def _readable(self, kind: ApiKind[Any], namespace: str, name: str) -> None:
        if self._engine.cluster.has(Undecodable):
            self._engine.remove(Undecodable, namespace, f"{kind.name} {name}")

    def sync_state(self, kind: ApiKind[Any], sync_state: SyncState, why: str = "") -> None:
        """Takes in how well a kind is seen now."""
        before = self._engine.cluster.get(Source, "", kind.name)
        if before is not None and before.sync_state is sync_state and (before.why == why or before.within):
            return
        if before is not None and before.sync_state is SyncState.READ and sync_state is SyncState.FORBIDDEN:
            return  # it was listed because it may not be watched
        since = before.since if before is not None and before.sync_state is sync_state else self._clock()
        if sync_state is SyncState.ABSENT and kind.optional:
            self._empty(kind)  # with its CRD its objects went, whether or not a watch was there to see it
        self._engine.put(Source("", kind.name, "", 0, kind.resource, sync_state, why, since, kind.optional))

    def seen_within(
        self, kind: ApiKind[Any], namespaces: Iterable[str], why: str, elsewhere: SyncState = SyncState.FORBIDDEN
    ) -> None:
        """Takes in that all of a kind is seen in some namespaces alone, by one look or in a dump."""
        before = self._engine.cluster.get(Source, "", kind.name)
        since = before.since if before is not None else self._clock()
        places = tuple(sorted(namespaces))
        self._engine.put(Source("", kind.name, "", 0, kind.resource, elsewhere, why, since, kind.optional, places))

    def unread(self, file: str, why: str) -> None:
        """Takes in that a file of a dump could not be read; it may have held objects of any kind."""
        self._engine.put(Undecodable("", f"{FILE} {file}", "", 0, FILE, file, why[:256], self._clock()))

    def _unreadable(self, kind: ApiKind[Any], observed: ReceivedObject) -> None:
        name = f"{kind.name} {observed.name}"
        before = self._engine.cluster.get(Undecodable, observed.namespace, name)
        first_seen = before.first_seen if before is not None else self._clock()
        self._engine.put(
            Undecodable(
                observed.namespace,
                name,
                observed.uid,
                0,
                kind.name,
                observed.name,
                observed.why[:256],
                first_seen,
                kind.resource,
            )
        )

    def _empty(self, kind: ApiKind[Any]) -> None:
        cluster = self._engine.cluster
        for record in list(cluster.all(kind.record)):
            self._engine.remove(kind.record, record.namespace, record.name)
        for each in [each for each in cluster.all(Undecodable) if each.kind == kind.name]:
            self._engine.remove(Undecodable, each.namespace, each.name)
