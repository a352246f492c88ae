"""What a check declares, and what it sees of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from ..findings import Finding, Severity
from ..model.cluster import Cluster
from ..model.index import Index
from ..model.kind import Kind, Reach
from ..model.record import Record

__all__ = [
    "PER_CLUSTER",
    "PER_FLEET",
    "PER_NAMESPACE",
    "Check",
    "Family",
    "Reason",
    "Scope",
    "Setting",
    "UndeclaredReadError",
    "View",
]

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, eq=False)
class Scope:
    """What one evaluation sees of the kinds that a check reads, beside cluster-wide objects and joins.

    One that is divided `by` an index has a partition for each of its keys; a change under a key of it, or of the
    indexes `beside` it, has that partition evaluated again. Where it is `bridged` a record with several keys is
    evaluated
    with what stands under each of them, so that a change under one concerns them all.
    """

    title: str
    by: Index | None = None
    extra_keys: tuple[Index, ...] = ()
    multi_key: bool = False

    @cached_property
    def indexes(self) -> tuple[Index, ...]:
        return (self.by, *self.extra_keys) if self.by else ()


PER_CLUSTER = Scope("the whole cluster")
PER_NAMESPACE = Scope("one namespace")
PER_FLEET = Scope("several clusters")  # no single cluster has an answer: `View.clusters` holds what is compared


@dataclass(frozen=True)
class Family:
    """A metric family: one sample of value 1 per open finding.

    `labels` are fields of the finding or of its subject, or keys of its evidence. With `aged`, a sibling
    `…_since_timestamp_seconds` tells since when.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    aged: bool = True
    stability: str = "experimental"


@dataclass(frozen=True)
class Reason:
    """One entry of a check's closed list. The first severity is the usual one.

    `grace` (seconds) is for a state that healthy objects pass through: its findings open once it has lasted so long.
    `next` and `commands` are for every finding that has none of its own, in the words of the runbook: NAMESPACE, NAME
    and other words in capitals are filled in (`advice.py`). `alert` is the name of the alert and of its runbook; empty
    for what only informs and has none.
    """

    severities: tuple[Severity, ...]
    meaning: str
    family: Family
    code: str = ""
    grace: float = 0.0
    next: str = ""
    commands: tuple[str, ...] = ()
    alert: str = ""


@dataclass(frozen=True)
class Setting:
    """What the configuration says of a field: `Annotated[timedelta, Setting("How long …", low="1s", high="1d")]`.

    `low` and `high` are the range, written as in the file; `unit` is what a number counts.
    """

    meaning: str
    unit: str = ""
    low: str | float | None = None
    high: str | float | None = None


@dataclass(frozen=True, eq=False)
class Check:
    """Data plus one pure function from a view to findings. `joins` are the indexes that it looks others up by.

    `settings` is a frozen struct whose fields all have a default and a `Setting`; `find` gets it as `view.settings`.
    `facts` is for a check of several clusters: what it keeps of each, since only one of them is in memory at a time.
    """

    id: str
    title: str
    reads: tuple[Kind[Any], ...]
    scope: Scope
    reasons: dict[str, Reason]
    find: Callable[[View], Iterable[Finding]] = field(repr=False)
    joins: tuple[Index, ...] = ()
    settings: type[Struct] | None = None
    facts: Callable[[Cluster], Iterable[Any]] = lambda _: ()

    @cached_property
    def indexes(self) -> tuple[Index, ...]:
        return (*self.scope.indexes, *self.joins)

    def partitions(self, record: Record, cluster: Cluster) -> Iterable[str]:
        """The partitions that evaluate this record; none where it is only ever looked up."""
        if self.scope.by is not None:
            return cluster.keys_of(self.scope.by, record)
        return (record.namespace,) if self.scope is PER_NAMESPACE else ("",)

    def namespaces(self, partition: str, cluster: Cluster) -> Iterable[str]:
        """The namespaces whose objects a partition is evaluated by."""
        if self.scope.by is not None:
            return {record.namespace for index in self.scope.indexes for record in cluster.sharing(index, partition)}
        return (partition,)


class UndeclaredReadError(LookupError):
    """A check asked for what it does not declare: RBAC and dirty sets follow from the declaration."""


class View:
    """One partition of the cluster, narrowed to what a check declares."""

    def __init__(self, cluster: Cluster, check: Check, partition: str) -> None:
        self._cluster = cluster
        self._check = check
        self._reach = {kind.record: kind.reach for kind in check.reads}
        self.partition = partition
        self.settings: Any = check.settings() if check.settings else None
        self.clusters: Mapping[str, Sequence[Any]] = {}  # the facts of a check of several clusters, by their names

    def at(self, partition: str) -> View:
        """This view, of another partition."""
        self.partition = partition
        return self

    @property
    def namespace(self) -> str:
        return self.partition.partition("/")[0]

    def all(self, kind: type[R]) -> list[R]:
        """The records of a kind in this partition; of a kind that reaches everywhere, all of them."""
        reach = self._declared(kind)
        scope = self._check.scope
        if scope is PER_CLUSTER or reach is Reach.CLUSTER:
            return list(self._cluster.all(kind))
        if scope.by is None or reach is Reach.NAMESPACE:
            return list(self._cluster.within(kind, self.namespace))
        return [record for record in self._cluster.sharing(scope.by, self.partition) if isinstance(record, kind)]

    def named(self, kind: type[R], namespace: str, name: str) -> R | None:
        """One object by its name, wherever it is."""
        self._declared(kind)
        return self._cluster.get(kind, namespace, name)

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        """All records under a key of a declared join, wherever they are."""
        if index not in self._check.indexes:
            raise UndeclaredReadError(f"check {self._check.id} does not declare the join {index.id}")
        return self._cluster.sharing(index, key)

    def _declared(self, kind: type[R]) -> Reach:
        try:
            return self._reach[kind]
        except KeyError:
            raise UndeclaredReadError(
                f"check {self._check.id} does not declare that it reads {kind.__name__}"
            ) from None
