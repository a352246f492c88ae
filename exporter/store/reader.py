"""What whoever reads the cluster declares, and the view that it gets: checks, states and views of users alike.

What is watched, the ClusterRole and the indexes that are kept follow from the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NoReturn, Protocol, TypeVar

from ..facts.record import Record
from .cluster import Cluster
from .index import Index
from .kind import Kind, Reach
from .source import UNREADABLE

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class Reader(Protocol):
    """Reads kinds, and looks records up by indexes. `requires` are kinds without which there is nothing to say."""

    @property
    def requires(self) -> tuple[Kind[Any], ...]: ...
    @property
    def reads(self) -> tuple[Kind[Any], ...]: ...
    @property
    def indexes(self) -> tuple[Index, ...]: ...


@dataclass(frozen=True, eq=False)
class Reading:
    """The declaration of a reader that is nothing else: a view that users ask for."""

    id: str
    reads: tuple[Kind[Any], ...]
    indexes: tuple[Index, ...] = ()
    requires: tuple[Kind[Any], ...] = ()


class UndeclaredReadError(LookupError):
    """A reader asked for what it does not declare: permissions and dirty partitions follow from the declaration."""


@dataclass
class Seen:
    """All that a view was asked for, absences included: what has to be read again before somebody acts on an answer.

    `objects` has what was looked up by kind, namespace and name, None for what was not there, and whatever else came
    out of the cluster; `lists` the kinds of which all was asked for, with the namespace or, for all of them, empty
    text; `shared` the keys of indexes.
    """

    objects: dict[tuple[str, str, str], Record | None] = field(default_factory=dict)
    lists: set[tuple[str, str]] = field(default_factory=set)
    shared: set[tuple[str, str]] = field(default_factory=set)

    def found(self, records: Iterable[Record]) -> None:
        for record in records:
            self.objects[type(record).__name__, record.namespace, record.name] = record


class ClusterView:
    """The whole cluster, narrowed to what a reader declares; with `seen`, it takes down what it is asked for."""

    __slots__ = ("_cluster", "_reader", "_seen")

    def __init__(self, cluster: Cluster, reader: Reader, seen: Seen | None = None) -> None:
        self._cluster, self._reader, self._seen = cluster, reader, seen

    def all(self, kind: type[R]) -> list[R]:
        """All records of a kind."""
        self._declared(kind)
        return self._listed(kind, "", self._cluster.all(kind))

    def within(self, kind: type[R], namespace: str) -> list[R]:
        """The records of a kind in one namespace."""
        self._declared(kind)
        return self._listed(kind, namespace, self._cluster.within(kind, namespace))

    def named(self, kind: type[R], namespace: str, name: str) -> R | None:
        """One object by its name, wherever it is."""
        self._declared(kind)
        found = self._cluster.get(kind, namespace, name)
        if self._seen is not None:
            self._seen.objects[kind.__name__, namespace, name] = found
        return found

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        """All records under a key of a declared index, wherever they are."""
        if index not in self._reader.indexes:
            raise UndeclaredReadError(f"{self._reader} does not declare the index {index.id}")
        found = self._cluster.sharing(index, key)
        if self._seen is not None:
            found = tuple(found)
            self._seen.shared.add((index.id, key))
            self._seen.found(found)
            for record in found:
                tuple(index.keys(record, self._noted))  # those through which it has the key were read too
        return found

    def some(self, index: Index, key: str, most: int) -> tuple[Record, ...]:
        """Any of the records under a key of a declared index, so many at most: whether there is one, or more than one.
        However many there are, it costs the same.
        """
        if self._seen is None and index in self._reader.indexes:
            return self._cluster.some(index, key, most)
        return tuple(islice(self.sharing(index, key), most))

    def members(self, index: Index, key: str, kind: type[R]) -> list[R]:
        """The records of one kind under a key of a declared index; whether other kinds can be seen does not matter."""
        return [record for record in self.sharing(index, key) if isinstance(record, kind)]

    def derived(self, index: Index, key: str, make: Callable[[], T], of: tuple[type[Record], ...] = ()) -> T:  # noqa: ARG002 # all can be seen
        """What `make` concludes from the records under a key of a declared index, and from nothing else; it is asked
        again once one of them changed. A key has one such value. `of` are the kinds whose records it looks at, where it
        does not look at all: whether others can be seen does not matter.
        """
        if index not in self._reader.indexes:
            raise UndeclaredReadError(f"{self._reader} does not declare the index {index.id}")
        return make() if self._seen is not None else self._cluster.derived(index, key, make)

    def _noted(self, kind: type[Record], namespace: str, name: str) -> Record | None:
        found = self._cluster.get(kind, namespace, name)
        if self._seen is not None:
            self._seen.objects[kind.__name__, namespace, name] = found
        return found

    def _listed(self, kind: type[R], namespace: str, records: Iterable[R]) -> list[R]:
        found = list(records)
        if self._seen is not None:
            self._seen.lists.add((kind.__name__, namespace))
            self._seen.found(found)
        return found

    def _declared(self, kind: type[Record]) -> Reach:
        return next((each.reach for each in self._reader.reads if each.record is kind), None) or self._undeclared(kind)

    def _undeclared(self, kind: type[Record]) -> NoReturn:
        raise UndeclaredReadError(f"{self._reader} does not declare that it reads {kind.__name__}")


def watched(readers: Iterable[Reader]) -> dict[Kind[Any], None]:
    """The kinds that have to be watched for them, in order."""
    return dict.fromkeys(kind for reader in readers for kind in (*reader.reads, *reader.requires))


def cluster_of(readers: Iterable[Reader]) -> Cluster:
    """An empty cluster that keeps the indexes of all of them."""
    return Cluster((UNREADABLE, *(index for reader in readers for index in reader.indexes)))
