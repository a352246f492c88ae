"""The cluster as it is known: every record by kind, namespace and name, and the indexes over them.

Plain data with one writer, without clock and I/O. A write returns what it touched, so that only the affected partitions
are evaluated again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import force_setattr

from .index import Buckets, Index, members, one, size
from .record import Record

__all__ = ["Change", "Cluster"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")


@dataclass(slots=True)
class Change:
    """A change of one object: its states before and after, and the index keys under which other records may be
    affected.

    `moved` are the keys that were added or removed; `facts` the fields that differ, None if the object was added or
    removed.
    """

    kind: type[Record]
    before: Record | None
    after: Record | None
    touched: list[tuple[Index, str]] = field(default_factory=list)
    moved: frozenset[tuple[Index, str]] = frozenset()
    facts: frozenset[str] | None = None


class Cluster:
    def __init__(self, indexes: Iterable[Index] = ()) -> None:
        # An index comes after the one that it is read through.
        chain: dict[Index, None] = {}
        for index in indexes:
            chain |= dict.fromkeys(_chain(index))
        self._indexes: dict[Index, Buckets] = {index: Buckets() for index in chain}
        self._dependents: dict[Index, Buckets] = {index: Buckets() for index in chain if index.dependents}
        self._records: dict[type[Record], dict[str, dict[str, Record]]] = {}
        self._derived: dict[tuple[Index, str], Any] = {}
        self._indexed: dict[type[Record], tuple[Index, ...]] = {}  # by which records of a type may be found
        self.version = 0  # grows with each change

    def get(self, kind: type[R], namespace: str, name: str) -> R | None:
        found = self._records.get(kind, {}).get(namespace, {}).get(name)
        return found if isinstance(found, kind) else None

    def all(self, kind: type[R]) -> Iterator[R]:
        for names in self._records.get(kind, {}).values():
            yield from names.values()  # type: ignore[misc] # the table of a kind holds its records

    def within(self, kind: type[R], namespace: str) -> Iterable[R]:
        return self._records.get(kind, {}).get(namespace, {}).values()  # type: ignore[return-value]

    def namespaces(self, kind: type[Record]) -> Iterable[str]:
        """Those that have records of a kind; empty text where these are cluster-wide."""
        return tuple(self._records.get(kind, ()))

    def kinds(self) -> Iterable[type[Record]]:
        """The kinds that have, or had, records."""
        return self._records.keys()

    def has(self, kind: type[Record]) -> bool:
        """Whether there is any record of a kind."""
        return bool(self._records.get(kind))

    def count(self, kind: type[Record]) -> int:
        found = self._records.get(kind)
        return sum(map(len, found.values())) if found else 0

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        """The records under a key, without the dependents."""
        return members(self._indexes[index].get(key))

    def first(self, index: Index, key: str) -> Record | None:
        """One of the records under a key, without the dependents; None if there is none. However many there are, it
        costs the same.
        """
        return one(self._indexes[index].get(key))

    def shared_by(self, index: Index, key: str) -> int:
        """How many records are under a key, without the dependents."""
        return size(self._indexes[index].get(key))

    def dependents(self, index: Index, key: str) -> Iterable[Record]:
        """The dependents under a key."""
        return members(self._dependents[index].get(key)) if index.dependents else ()

    def depending(self, index: Index, key: str) -> int:
        """How many dependents are under a key."""
        return size(self._dependents[index].get(key)) if index.dependents else 0

    def derived(self, index: Index, key: str, make: Callable[[], T]) -> T:
        """What follows from the records under a key, without the dependents, and from nothing else: made once until one
        of them changes. A key has one such value.
        """
        if (index, key) not in self._derived:
            self._derived[index, key] = make()
        found: T = self._derived[index, key]
        return found

    def keys(self, index: Index) -> Iterable[str]:
        return self._indexes[index].keys()

    def keys_of(self, index: Index, record: Record) -> Iterable[str]:
        return index.keys(record, self.get)

    def put(self, record: Record) -> Change | None:
        """Stores the state of one object; None if no fact changed, or the state is older than the stored one."""
        kind = type(record)
        before = self.get(kind, record.namespace, record.name)
        if before is not None:
            if before.uid == record.uid and 0 < record.rv < before.rv:
                return None
            if before.same_facts(record):
                # In place: buckets hold the record itself, and most events change no fact.
                force_setattr(before, "rv", max(before.rv, record.rv))
                return None
        return self._change(kind, before, record)

    def remove(self, kind: type[Record], namespace: str, name: str) -> Change | None:
        before = self.get(kind, namespace, name)
        return self._change(kind, before, None) if before is not None else None

    def _change(self, kind: type[Record], before: Record | None, after: Record | None) -> Change:
        self.version += 1
        left: list[tuple[Index, str]] = []
        taken: list[tuple[Index, str]] = []
        read_through = self._read_through(kind, before, after)
        for index, others in read_through.items():
            self._unindex(index, others, left)
        self._swap(before, after, left, taken)
        for index, others in read_through.items():
            self._index(index, others, taken)
        touched = list(dict.fromkeys((*left, *taken)))  # most keys are removed and added again
        if self._derived:
            for key in touched:
                self._derived.pop(key, None)
        return Change(kind, before, after, touched, frozenset(left) ^ frozenset(taken), _facts(before, after))

    def _read_through(
        self, kind: type[Record], before: Record | None, after: Record | None
    ) -> dict[Index, Collection[Record]]:
        """The other records whose keys in an index are read through this one."""
        record = before or after
        if record is None:
            return {}
        key, found = f"{record.namespace}/{record.name}", dict[Index, dict[int, Record]]()
        for index in self._indexes:
            for through, finds in index.through:
                if through is kind and not index.unmoved(before, after):
                    others = {id(each): each for each in self.sharing(finds, key)}
                    others.pop(id(record), None)  # it has its own turn
                    found.setdefault(index, {}).update(others)
        return {index: others.values() for index, others in found.items()}

    def _swap(
        self,
        before: Record | None,
        after: Record | None,
        left: list[tuple[Index, str]],
        taken: list[tuple[Index, str]],
    ) -> None:
        if before is not None:
            for index in self._indexes_of(type(before)):
                self._unindex(index, (before,), left)
            self._drop(before)
        if after is not None:
            self._store(after)
            for index in self._indexes_of(type(after)):
                self._index(index, (after,), taken)

    def _indexes_of(self, kind: type[Record]) -> tuple[Index, ...]:
        found = self._indexed.get(kind)
        if found is None:
            found = tuple(index for index in self._indexes if not index.of or issubclass(kind, index.of))
            self._indexed[kind] = found
        return found

    def _store(self, record: Record) -> None:
        self._records.setdefault(type(record), {}).setdefault(record.namespace, {})[record.name] = record

    def _drop(self, record: Record) -> None:
        namespaces = self._records[type(record)]
        del namespaces[record.namespace][record.name]
        if not namespaces[record.namespace]:
            del namespaces[record.namespace]

    def _index(self, index: Index, records: Collection[Record], touched: list[tuple[Index, str]]) -> None:
        for record in records:
            dependents = isinstance(record, index.dependents)
            buckets = self._dependents[index] if dependents else self._indexes[index]
            for key in index.keys(record, self.get):
                buckets.add(key, record)
                if not dependents:
                    touched.append((index, key))

    def _unindex(self, index: Index, records: Collection[Record], touched: list[tuple[Index, str]]) -> None:
        for record in records:
            dependents = isinstance(record, index.dependents)
            buckets = self._dependents[index] if dependents else self._indexes[index]
            for key in index.keys(record, self.get):
                buckets.remove(key, record)
                if not dependents:
                    touched.append((index, key))


def _chain(index: Index) -> Iterator[Index]:
    """The indexes that an index is read through, then itself."""
    for _, finds in index.through:
        yield from _chain(finds)
    yield index


def _facts(before: Record | None, after: Record | None) -> frozenset[str] | None:
    if before is None or after is None:
        return None
    return frozenset(name for name in before.__struct_fields__ if getattr(before, name) != getattr(after, name))
