"""Where sources hand in what they see; the same for a live cluster and for a dump.

A list swaps the content of its kind: what is new, changed or gone is told to the engine, and until that is done nothing
is judged. Nothing here ever empties a store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ..model.kind import ApiKind
from ..model.record import Record
from ..model.source import FILE, Sight, Source, Undecodable
from .engine import Engine

__all__ = ["Intake", "Sighting"]

_SLICE = 500  # objects between two looks at the event loop


class Sighting(Protocol):
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


class Intake:
    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock

    async def swap(self, kind: ApiKind[Any], everything: Iterable[Sighting]) -> None:
        """Takes in the whole of a kind. Of two sightings of one object the later one counts."""
        latest = {(each.namespace, each.name): each for each in everything}
        cluster = self._engine.cluster
        with self._engine.held():
            known = [(record.namespace, record.name) for record in cluster.all(kind.record)]
            odd = [(each.namespace, each.object_name) for each in cluster.all(Undecodable) if each.kind == kind.name]
            for done, (namespace, name) in enumerate({*known, *odd} - latest.keys()):
                await self._breathe(done)
                self.gone(kind, namespace, name)
            for done, sighting in enumerate(latest.values()):
                await self._breathe(done)
                self._forget_newer(sighting)
                self.seen(kind, sighting)

    def _forget_newer(self, sighting: Sighting) -> None:
        """A list is the truth, even where it is older than what we hold: an API server was restored from a backup."""
        record = sighting.record
        held = self._engine.cluster.get(type(record), record.namespace, record.name) if record is not None else None
        if record is not None and held is not None and record.rv < held.rv:
            self._engine.remove(type(record), record.namespace, record.name)

    async def _breathe(self, done: int) -> None:
        if done % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)

    def seen(self, kind: ApiKind[Any], sighting: Sighting) -> None:
        """Takes in one object. One that can't be read keeps the record of its last readable state."""
        namespace, name = sighting.namespace, sighting.name
        if sighting.why:
            self._unreadable(kind, sighting)
            return
        self._engine.remove(Undecodable, namespace, f"{kind.name} {name}")
        if sighting.record is None:
            self._engine.remove(kind.record, namespace, name)
        else:
            self._engine.put(sighting.record)

    def gone(self, kind: ApiKind[Any], namespace: str, name: str, version: int = 0) -> None:
        """Takes in a deletion; one that is older than what we hold was overtaken by a new object of the name."""
        self._engine.remove(Undecodable, namespace, f"{kind.name} {name}")
        held = self._engine.cluster.get(kind.record, namespace, name)
        if held is not None and not 0 < version < held.rv:
            self._engine.remove(kind.record, namespace, name)

    def sight(self, kind: ApiKind[Any], sight: Sight, why: str = "") -> None:
        """Takes in how well a kind is seen now."""
        before = self._engine.cluster.get(Source, "", kind.name)
        if before is not None and before.sight is sight and before.why == why:
            return
        since = before.since if before is not None and before.sight is sight else self._clock()
        self._engine.put(
            Source("", kind.name, "", 0, kind.resource, sight, why, since, kind.optional, kind.dispensable)
        )

    def unread(self, file: str, why: str) -> None:
        """Takes in that a file of a dump could not be read; it may have held objects of any kind."""
        self._engine.put(Undecodable("", f"{FILE} {file}", "", 0, FILE, file, why[:256], self._clock()))

    def _unreadable(self, kind: ApiKind[Any], sighting: Sighting) -> None:
        name = f"{kind.name} {sighting.name}"
        before = self._engine.cluster.get(Undecodable, sighting.namespace, name)
        first_seen = before.first_seen if before is not None else self._clock()
        self._engine.put(
            Undecodable(
                sighting.namespace, name, sighting.uid, 0, kind.name, sighting.name, sighting.why[:256], first_seen
            )
        )
