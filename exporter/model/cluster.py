"""The cluster as it is known: every record by kind, namespace and name, and the indexes over them.

Plain data with one writer, without clock and I/O. A write returns what it touched, so that only the affected partitions
are evaluated again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import force_setattr

from .index import Buckets, Index, added, members, removed
from .record import Record

__all__ = ["Change", "Cluster"]

R = TypeVar("R", bound=Record)


@dataclass(slots=True)
class Change:
    """A change of one object: its states before and after, and the index keys under which other records may be
    affected.
    """

    kind: type[Record]
    before: Record | None
    after: Record | None
    touched: list[tuple[Index, str]] = field(default_factory=list)


class Cluster:
    def __init__(self, indexes: Iterable[Index] = ()) -> None:
        # An index comes after the one that it is read through.
        chain: dict[Index, None] = {}
        for index in indexes:
            if index.through:
                chain[index.through[1]] = None
            chain[index] = None
        self._indexes: dict[Index, Buckets] = {index: Buckets() for index in chain}
        self._dependents: dict[Index, Buckets] = {index: Buckets() for index in chain if index.dependents}
        self._records: dict[type[Record], dict[str, dict[str, Record]]] = {}

    def get(self, kind: type[R], namespace: str, name: str) -> R | None:
        found = self._records.get(kind, {}).get(namespace, {}).get(name)
        return found if isinstance(found, kind) else None

    def all(self, kind: type[R]) -> Iterator[R]:
        for names in self._records.get(kind, {}).values():
            yield from names.values()  # type: ignore[misc] # the table of a kind holds its records

    def within(self, kind: type[R], namespace: str) -> Iterable[R]:
        return self._records.get(kind, {}).get(namespace, {}).values()  # type: ignore[return-value]

    def kinds(self) -> Iterable[type[Record]]:
        """The kinds that have, or had, records."""
        return self._records.keys()

    def count(self, kind: type[Record]) -> int:
        return sum(map(len, self._records.get(kind, {}).values()))

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        """The records under a key, without the dependents."""
        return members(self._indexes[index].get(key))

    def dependents(self, index: Index, key: str) -> Iterable[Record]:
        """The dependents under a key."""
        return members(self._dependents[index].get(key)) if index.dependents else ()

    def keys(self, index: Index) -> Iterable[str]:
        return self._indexes[index].keys()

    def keys_of(self, index: Index, record: Record) -> Iterable[str]:
        return index.keys(record, self.get)

    def put(self, record: Record) -> Change | None:
        """Stores the state of one object; None if no fact changed, or the state is older than the stored one."""
        kind = type(record)
        before = self._records.setdefault(kind, {}).setdefault(record.namespace, {}).get(record.name)
        if before is not None:
            if before.uid == record.uid and 0 < record.rv < before.rv:
                return None
            if before.same_facts(record):
                # In place: buckets hold the record itself, and most events change no fact.
                force_setattr(before, "rv", max(before.rv, record.rv))
                return None
        return self._change(kind, before, record)

    def remove(self, kind: type[Record], namespace: str, name: str) -> Change | None:
        before = self._records.get(kind, {}).get(namespace, {}).get(name)
        return self._change(kind, before, None) if before is not None else None

    def _change(self, kind: type[Record], before: Record | None, after: Record | None) -> Change:
        change = Change(kind, before, after)
        read_through = self._read_through(kind, before or after)
        for index, record in read_through:
            self._unindex(index, record, change.touched)
        self._swap(kind, before, after, change.touched)
        for index, record in read_through:
            self._index(index, record, change.touched)
        change.touched = list(dict.fromkeys(change.touched))  # most keys are removed and added again
        return change

    def _read_through(self, kind: type[Record], record: Record | None) -> list[tuple[Index, Record]]:
        """The other records whose keys in an index are read through this one."""
        if record is None:
            return []
        key = f"{record.namespace}/{record.name}"
        return [
            (index, other)
            for index in self._indexes
            if index.through and index.through[0] is kind
            for other in self.sharing(index.through[1], key)
        ]

    def _swap(
        self, kind: type[Record], before: Record | None, after: Record | None, touched: list[tuple[Index, str]]
    ) -> None:
        namespaces = self._records.setdefault(kind, {})
        if before is not None:
            for index in self._indexes:
                self._unindex(index, before, touched)
            del namespaces[before.namespace][before.name]
            if after is None and not namespaces[before.namespace]:
                del namespaces[before.namespace]
        if after is not None:
            namespaces.setdefault(after.namespace, {})[after.name] = after
            for index in self._indexes:
                self._index(index, after, touched)

    def _index(self, index: Index, record: Record, touched: list[tuple[Index, str]]) -> None:
        dependents = isinstance(record, index.dependents)
        buckets = self._dependents[index] if dependents else self._indexes[index]
        for key in index.keys(record, self.get):
            buckets[key] = added(buckets.get(key), record)
            if not dependents:
                touched.append((index, key))

    def _unindex(self, index: Index, record: Record, touched: list[tuple[Index, str]]) -> None:
        dependents = isinstance(record, index.dependents)
        buckets = self._dependents[index] if dependents else self._indexes[index]
        for key in index.keys(record, self.get):
            left = removed(buckets.get(key), record)
            if left is None:
                buckets.discard(key)
            else:
                buckets[key] = left
            if not dependents:
                touched.append((index, key))
