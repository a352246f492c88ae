"""A cluster as it would be if some objects were other than they are, or gone.

It is read as any cluster, and costs what the edits touch: of all that they leave alone it has no copy, and the cluster
below never changes by it. Once that one changes, an overlay is of no use any more: compare `Cluster.version`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ..facts.record import Record
from .cluster import Change, Cluster
from .index import Index, Layered

R = TypeVar("R", bound=Record)
T = TypeVar("T")


@dataclass(frozen=True)
class Edit:
    """One object as it would be; `after` is None where it would be gone."""

    kind: type[Record]
    namespace: str
    name: str
    after: Record | None = None

    @classmethod
    def removed(cls, record: Record) -> Edit:
        return cls(type(record), record.namespace, record.name)

    @classmethod
    def put(cls, record: Record) -> Edit:
        return cls(type(record), record.namespace, record.name, record)


class Overlay(Cluster):
    def __init__(self, below: Cluster) -> None:
        super().__init__()
        self._below = below
        self._indexes = {index: Layered(buckets) for index, buckets in below._indexes.items()}
        self._dependents = {index: Layered(buckets) for index, buckets in below._dependents.items()}
        self._own: dict[type[Record], dict[str, dict[str, Record | None]]] = {}
        self._touched: set[tuple[Index, str]] = set()

    def apply(self, edit: Edit) -> Change | None:
        """What it touched; None where everything is as the edit would have it."""
        if edit.after is None:
            return self.remove(edit.kind, edit.namespace, edit.name)
        return self.put(edit.after)

    def put(self, record: Record) -> Change | None:
        """As of a cluster, whatever the resourceVersion: this state is nobody's event."""
        before = self.get(type(record), record.namespace, record.name)
        if before is not None and before.same_facts(record):
            return None
        return self._change(type(record), before, record)

    def get(self, kind: type[R], namespace: str, name: str) -> R | None:
        own = self._edited(kind, namespace)
        if name not in own:
            return self._below.get(kind, namespace, name)
        found = own[name]
        return found if isinstance(found, kind) else None

    def all(self, kind: type[R]) -> Iterator[R]:
        own = self._own.get(kind)
        if own is None:
            yield from self._below.all(kind)
            return
        yield from (record for record in self._below.all(kind) if record.name not in own.get(record.namespace, ()))
        for namespace in own:
            yield from self._present(kind, namespace)

    def within(self, kind: type[R], namespace: str) -> Iterable[R]:
        own, below = self._edited(kind, namespace), self._below.within(kind, namespace)
        if not own:
            return below
        return [*(record for record in below if record.name not in own), *self._present(kind, namespace)]

    def namespaces(self, kind: type[Record]) -> Iterable[str]:
        return tuple(dict.fromkeys((*self._below.namespaces(kind), *self._own.get(kind, ()))))

    def kinds(self) -> Iterable[type[Record]]:
        return dict.fromkeys((*self._below.kinds(), *self._own))

    def has(self, kind: type[Record]) -> bool:
        return next(self.all(kind), None) is not None

    def count(self, kind: type[Record]) -> int:
        more = sum(1 for namespace in self._own.get(kind, ()) for _ in self._present(kind, namespace))
        covered = (
            self._below.get(kind, namespace, name) for namespace, own in self._own.get(kind, {}).items() for name in own
        )
        return self._below.count(kind) + more - sum(1 for record in covered if record is not None)

    def derived(self, index: Index, key: str, make: Callable[[], T]) -> T:
        if (index, key) in self._touched:
            return super().derived(index, key, make)
        return self._below.derived(index, key, make)

    def _change(self, kind: type[Record], before: Record | None, after: Record | None) -> Change:
        change = super()._change(kind, before, after)
        self._touched.update((index, key) for index, keys in change.touched.items() for key in keys)
        return change

    def _store(self, record: Record) -> None:
        self._own.setdefault(type(record), {}).setdefault(record.namespace, {})[record.name] = record

    def _drop(self, record: Record) -> None:
        self._own.setdefault(type(record), {}).setdefault(record.namespace, {})[record.name] = None

    def _edited(self, kind: type[Record], namespace: str) -> dict[str, Record | None]:
        return self._own.get(kind, {}).get(namespace, {})

    def _present(self, kind: type[R], namespace: str) -> Iterator[R]:
        return (record for record in self._edited(kind, namespace).values() if isinstance(record, kind))
