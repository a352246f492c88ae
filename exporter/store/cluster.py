"""The cluster as it is known: every record by kind, namespace and name, and the indexes over them.

Plain data with one writer, without clock and I/O. A write returns what it touched, so that only the affected partitions
are evaluated again.

A `Change` is of one object: what it means for the indexes that find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import astuple, force_setattr

from ..facts.record import Record
from .index import Buckets, ByName, Index, members, one, size, some

Keys: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Change:
    """A change of one object: its states before and after, and by index the keys under which other records may be
    affected.

    `moved` are the keys that were added or removed; `own` those that the object itself has, then those that it had,
    also where it only listens; `facts` the fields that differ, None if the object was added or removed.
    """

    kind: type[Record]
    before: Record | None
    after: Record | None
    touched: dict[Index, Keys] = field(default_factory=dict)
    moved: dict[Index, Keys] = field(default_factory=dict)
    own: dict[Index, Keys] = field(default_factory=dict)
    facts: frozenset[str] | None = None


class IndexStep(NamedTuple):
    """What is done for one index with each record of a kind; `listens` where records of the kind are dependents."""

    by: Index
    keys: Callable[[Record, ByName], Iterable[str]]
    buckets: Buckets
    listens: bool


def move(change: Change, steps: Sequence[IndexStep], had: Sequence[Keys], has: Sequence[Keys]) -> None:
    """Has each index find an object by the keys that it has, and no more by those that it had."""
    before, after = change.before, change.after
    for (index, _, buckets, listens), old, new in zip(steps, had, has, strict=True):
        if not (old or new):
            continue
        if old == new and before is not None and after is not None:
            for key in new:
                buckets.replace(key, before, after)
            own = touched = new
        else:
            if before is not None:
                for key in old:
                    buckets.remove(key, before)
            if after is not None:
                for key in new:
                    buckets.add(key, after)
            own, touched = new + old, old + new
            if not listens:
                moved = tuple(frozenset(old) ^ frozenset(new)) if old and new else own
                if moved:
                    change.moved[index] = change.moved.get(index, ()) + moved
                touched = tuple(dict.fromkeys(touched)) if old and new else touched
        change.own[index] = own
        if not listens:
            known = change.touched.get(index)
            change.touched[index] = tuple(dict.fromkeys(known + touched)) if known else touched


def differing(before: Record | None, after: Record | None) -> frozenset[str] | None:
    """The fields that differ between two states of an object; None where it was added or removed."""
    if before is None or after is None:
        return None
    pairs = zip(before.__struct_fields__, astuple(before), astuple(after), strict=True)
    return frozenset([name for name, one, other in pairs if one is not other and one != other])


__all__ = ["Change", "Cluster"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class _Way(NamedTuple):
    """How others are read through records of a kind: by which index they are found, and in which they have other keys
    then, with what is done for those by their type.
    """

    finds: Index
    indexes: tuple[Index, ...]
    steps: dict[type[Record], tuple[IndexStep, ...]]


class Cluster:
    def __init__(self, indexes: Iterable[Index] = ()) -> None:
        # An index comes after the one that it is read through.
        chain: dict[Index, None] = {}
        for index in indexes:
            chain |= dict.fromkeys(_chain(index))
        self._indexes: dict[Index, Buckets] = {index: Buckets() for index in chain}
        self._dependents: dict[Index, Buckets] = {index: Buckets() for index in chain if index.dependents}
        self._records: dict[type[Record], dict[str, dict[str, Record]]] = {}
        self._derived: dict[Index, dict[str, Any]] = {}
        self._plans: dict[type[Record], tuple[IndexStep, ...]] = {}  # by which records of a type may be found
        self._ways: dict[type[Record], tuple[_Way, ...]] = {}  # in which others may be read through records of a type
        self.version = 0  # grows with each change

    def get(self, kind: type[R], namespace: str, name: str) -> R | None:
        found = self._records.get(kind, {}).get(namespace, {}).get(name)
        return found if isinstance(found, kind) else None

    def all(self, kind: type[R]) -> Iterator[R]:
        for names in self._records.get(kind, {}).values():
            yield from names.values()  # type: ignore[misc] # the table of a kind holds its records

    def within(self, kind: type[R], namespace: str) -> Iterable[R]:
        return self._records.get(kind, {}).get(namespace, {}).values()  # type: ignore[return-value]

    def names(self, kind: type[Record], namespace: str) -> Set[str]:
        """Those of the records of a kind in one namespace."""
        return self._records.get(kind, {}).get(namespace, {}).keys()

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

    def some(self, index: Index, key: str, most: int) -> tuple[Record, ...]:
        """Any of the records under a key, without the dependents, so many at most. However many there are, it costs
        the same.
        """
        return tuple(some(self._indexes[index].get(key), most))

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
        of them changes. A key has one such value; none is kept of a key under which there is nothing.
        """
        kept = self._derived.setdefault(index, {})
        if key not in kept:
            if self.first(index, key) is None:
                return make()
            kept[key] = make()
        found: T = kept[key]
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
        change = Change(kind, before, after, facts=differing(before, after))
        plan, lookup = self._plan(kind), self.get
        others = self._read_through(change)
        had = [tuple(step.keys(before, lookup)) for step in plan] if before is not None else [()] * len(plan)
        if before is not None:
            self._drop(before)
        if after is not None:
            self._store(after)
        self._moved_others(change, others)
        has = [tuple(step.keys(after, lookup)) for step in plan] if after is not None else [()] * len(plan)
        move(change, plan, had, has)
        for index, kept in self._derived.items():
            for key in change.touched.get(index, ()):
                kept.pop(key, None)
        return change

    def _read_through(self, change: Change) -> list[tuple[IndexStep, Record, tuple[str, ...]]]:
        """The other records whose keys in an index are read through this one, with the keys that they have."""
        record = change.before or change.after
        ways = self._ways_through(change.kind)
        if not ways or record is None:
            return []
        key, lookup = f"{record.namespace}/{record.name}", self.get
        found: dict[tuple[Index, int], tuple[IndexStep, Record, tuple[str, ...]]] = {}
        for finds, indexes, steps in ways:
            for each in self.sharing(finds, key):
                if each is change.before:
                    continue  # it has its own turn
                its = steps.get(type(each))
                if its is None:
                    its = steps[type(each)] = self._steps_of(indexes, type(each))
                for step in its:
                    if not step.by.unmoved(change.before, change.after):
                        found[step.by, id(each)] = step, each, tuple(step.keys(each, lookup))
        return list(found.values())

    def _ways_through(self, kind: type[Record]) -> tuple[_Way, ...]:
        found = self._ways.get(kind)
        if found is None:
            by: dict[Index, list[Index]] = {}
            for index in self._indexes:
                for finds in (finds for through, finds in index.through if through is kind):
                    by.setdefault(finds, []).append(index)
            found = self._ways[kind] = tuple(_Way(finds, tuple(indexes), {}) for finds, indexes in by.items())
        return found

    def _moved_others(self, change: Change, others: Iterable[tuple[IndexStep, Record, tuple[str, ...]]]) -> None:
        """Takes in a change through which the keys of others are read; of thousands, where a network changes."""
        touched: dict[Index, dict[str, None]] = {}
        moved: dict[Index, set[str]] = {}
        for (index, keys_of, buckets, listens), record, had in others:
            has = tuple(keys_of(record, self.get))
            differ: frozenset[str] = frozenset()
            if had != has:
                before, after = frozenset(had), frozenset(has)
                differ = before ^ after
                for key in before - after:
                    buckets.remove(key, record)
                for key in after - before:
                    buckets.add(key, record)
            if not listens and (had or has):
                touched.setdefault(index, {}).update(dict.fromkeys(had + has))
                if differ:
                    moved.setdefault(index, set()).update(differ)
        change.touched = {index: tuple(keys) for index, keys in touched.items()}
        change.moved = {index: tuple(keys) for index, keys in moved.items()}

    def _plan(self, kind: type[Record]) -> tuple[IndexStep, ...]:
        found = self._plans.get(kind)
        if found is None:
            found = self._plans[kind] = self._steps_of(self._indexes, kind)
        return found

    def _steps_of(self, indexes: Iterable[Index], kind: type[Record]) -> tuple[IndexStep, ...]:
        """What is done with a record of a kind for those of the indexes in which it may be found."""
        return tuple(self._step(index, kind) for index in indexes if not index.of or issubclass(kind, index.of))

    def _step(self, index: Index, kind: type[Record]) -> IndexStep:
        listens = issubclass(kind, index.dependents)
        return IndexStep(index, index.keys, (self._dependents if listens else self._indexes)[index], listens)

    def _store(self, record: Record) -> None:
        self._records.setdefault(type(record), {}).setdefault(record.namespace, {})[record.name] = record

    def _drop(self, record: Record) -> None:
        namespaces = self._records[type(record)]
        del namespaces[record.namespace][record.name]
        if not namespaces[record.namespace]:
            del namespaces[record.namespace]


def _chain(index: Index) -> Iterator[Index]:
    """The indexes that an index is read through, then itself."""
    for _, finds in index.through:
        yield from _chain(finds)
    yield index
