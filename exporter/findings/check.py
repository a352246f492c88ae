"""What a check declares, and what it sees of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from ..domain.acts import Act, Forbids
from ..facts.record import Record
from ..store.cluster import Change, Cluster
from ..store.index import Index
from ..store.indexes.networks import NAD, NETWORK, SEVERAL_VMS, VM
from ..store.kind import Kind, Reach
from ..store.reader import ClusterView, Seen, UndeclaredReadError
from .causes import Cause, Reference, cause_id
from .fields_read import FIELDS_READ
from .finding import Finding
from .severity import Severity

__all__ = [
    "PER_CLUSTER",
    "PER_FLEET",
    "PER_NAMESPACE",
    "PER_NETWORK",
    "PER_VM",
    "Check",
    "Family",
    "Lookup",
    "Presence",
    "Reason",
    "Scope",
    "Setting",
    "UndeclaredReadError",
    "View",
]

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, eq=False)
class Scope:
    """What one evaluation sees of the kinds that a check reads, in addition to cluster-wide objects and joins.

    A scope that is divided `by` an index has a partition for each key of it. A change under a key of that index, or of
    the `extra_keys` indexes, makes the partition of this key dirty. A record that is under several keys is evaluated
    together with what stands under each of them, so a change under one makes all of them dirty: `several` is the index
    of such records, under the same keys. An evaluation that is `whole` concludes from what is nowhere in the cluster.
    """

    title: str
    by: Index | None = None
    extra_keys: tuple[Index, ...] = ()
    several: Index | None = None
    whole: bool = False

    @cached_property
    def indexes(self) -> tuple[Index, ...]:
        return (self.by, *self.extra_keys) if self.by else ()


PER_CLUSTER = Scope("the whole cluster", whole=True)
PER_NAMESPACE = Scope("one namespace")
PER_FLEET = Scope("several clusters")  # no single cluster has an answer: `View.clusters` holds what is compared


@dataclass(frozen=True, eq=False)
class Lookup:
    """An index that a check looks other objects up by, and whose answer a change under one of its keys may alter.

    All that is under the key is evaluated again. With `changes_of`, only after a change of records of these types: the
    VMs that refer to one ControllerRevision are not evaluated because another VM of it changed. With `concerns`, only
    what has the same key in that index: for checks that take in tens of thousands of records under a key, while few of
    them depend on the others.
    """

    index: Index
    changes_of: tuple[type[Record], ...] = ()
    concerns: Index | None = None


@dataclass(frozen=True, eq=False)
class Presence:
    """An index of which a check counts whether a key has none, one or more records, such as the nodes that offer
    something. Where a record makes a difference to that, all partitions that begin with `partitions` are evaluated.
    With `whatever` each change under a key counts: for checks of few partitions, each of which may look for any key.
    """

    index: Index
    partitions: str = ""
    whatever: bool = False


@dataclass(frozen=True)
class Family:
    """A metric family: one sample of value 1 per open finding; all families have the same labels.

    With `aged`, a sibling `…_since_timestamp_seconds` gives the time since which it is so.
    """

    name: str
    help: str
    aged: bool = True
    stability: str = "experimental"


@dataclass(frozen=True)
class Reason:
    """One entry of a check's closed list, as its page declares it (`pages.py`). The first severity is the usual one.

    `grace` (seconds) is for a state that healthy objects pass through: its findings open once it has lasted so long.
    With `lasting` one without a known beginning waits for it in the first evaluation too: it says how long it lasted.
    `title` is the symptom and the kind of object, in at most 60 characters (its meaning where it has none), without a
    severity: `severity_when` says when it has which. `impact` is what is lost, in one sentence.
    `next` and `commands` are for every finding that has none of its own, in the words of the runbook: NAMESPACE, NAME
    and other words in capitals are filled in (`advice.py`). `alert` is the name of the alert and of its runbook; empty
    for what only informs and has none. With `pages` its critical findings are critical alerts, and else warnings;
    `not_paging` says why none pages, where that is not what its alert says, or until when a warning can wait. `met` is
    when a VM meets a feature that is not allowed, or that no node offers. `remediation` is the id of what the sidecar
    can do about it, the first to look at where there are several; empty where it can do nothing. `cause` is by what its
    findings have one cause, where that differs from the check's. `does` is what somebody who follows `next` may do to
    the VM, and `forbids` what must not be done to it while the finding is open: where both meet, one finding says to
    look at the other first (`advice.py`).
    """

    severities: tuple[Severity, ...]
    meaning: str
    family: Family
    title: str = ""
    severity_when: str = ""
    impact: str = ""
    grace: float = 0.0
    lasting: bool = False
    next: str = ""
    commands: tuple[str, ...] = ()
    alert: str = ""
    pages: bool = False
    not_paging: str = ""
    met: str = ""
    remediation: str = ""
    cause: Cause | None = None
    does: tuple[Act, ...] = ()
    forbids: Forbids | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.meaning.rstrip("."))


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
    """Data plus one pure function from a view to findings. `find` gives None where it may pause: after each object,
    where a partition may have thousands. A check needs no more than `id`, `title`, `reads`, `scope`, `reasons`, `find`.

    `looks_up` are the indexes by which it looks other objects up; one that is no `Lookup` or `Presence` is a `Lookup`
    without exceptions.

    `requires` are the kinds without which there is nothing to check: where the cluster does not serve one of them the
    check is not applicable. `fields_read` are kinds whose records many checks share: a change of a field that the check
    does not read (`fields_read.py`) does not concern it; of a kind that is not there all fields count. `cause` is by
    what its findings have one cause. `settings` is a frozen struct whose fields all have a default and a `Setting`;
    `find` gets it as `view.settings`. `facts` is for a check of several clusters: what it keeps of each, since only one
    of them is in memory at a time.
    """

    id: str
    title: str
    reads: tuple[Kind[Any], ...]
    scope: Scope
    reasons: dict[str, Reason]
    find: Callable[[View], Iterable[Finding | None]] = field(repr=False)
    looks_up: tuple[Index | Lookup | Presence, ...] = ()
    cause: Cause = Cause.NAMESPACE
    settings: type[Struct] | None = None
    requires: tuple[Kind[Any], ...] = ()
    fields_read: tuple[Kind[Any], ...] = ()
    facts: Callable[[Cluster], Iterable[Any]] = lambda _: ()

    @cached_property
    def indexes(self) -> tuple[Index, ...]:
        several = (self.scope.several,) if self.scope.several else ()
        concerned = (each.concerns for each in self.lookups.values() if each.concerns is not None)
        return (*self.scope.indexes, *several, *self.lookups, *concerned, *self.presences)

    @cached_property
    def lookups(self) -> dict[Index, Lookup]:
        whole = (Lookup(each) if isinstance(each, Index) else each for each in self.looks_up)
        return {each.index: each for each in whole if isinstance(each, Lookup)}

    @cached_property
    def crowding(self) -> tuple[Index, ...]:
        """The indexes under whose keys a change may concern other objects than the one that changed."""
        several = self.scope.indexes if self.scope.several else ()
        return tuple(dict.fromkeys((*several, *self.lookups)))

    @cached_property
    def presences(self) -> dict[Index, Presence]:
        return {each.index: each for each in self.looks_up if isinstance(each, Presence)}

    @cached_property
    def watched(self) -> dict[Index, Presence]:
        return {index: each for index, each in self.presences.items() if each.whatever}

    @cached_property
    def reach(self) -> dict[type[Record], Reach]:
        """How far an object reaches, by the type of its record, for all that the check reads."""
        return {kind.record: kind.reach for kind in self.reads}

    @cached_property
    def used(self) -> dict[type[Record], frozenset[str]]:
        """The fields that count, by the type of record, where not all of them do."""
        known = FIELDS_READ.get(self.id, {})
        return {
            kind.record: frozenset(("uid", *names.split()))
            for kind in self.fields_read
            if (names := known.get(kind.name)) is not None
        }

    def cause_by(self, reason: str) -> Cause:
        """By what findings of the reason have one cause."""
        return self.reasons[reason].cause or self.cause

    def cause_of(self, finding: Finding) -> Reference:
        """What is to be mended for the finding to go."""
        return self.cause_by(finding.reason).reference(finding)

    def cause_id(self, finding: Finding) -> str:
        return cause_id(self.id, finding.reason, self.cause_of(finding))

    def concerned_by(self, change: Change) -> bool:
        """Whether the change alters anything that the check uses, or by which it finds what it uses."""
        used = self.used.get(change.kind)
        if used is None or change.facts is None or not used.isdisjoint(change.facts):
            return True
        return not change.moved.keys().isdisjoint(self.indexes)

    def partitions(self, record: Record, cluster: Cluster) -> Iterable[str]:
        """The partitions that this record is evaluated in; none where it is only ever looked up."""
        if self.scope.by is not None:
            return cluster.keys_of(self.scope.by, record)
        return (record.namespace,) if self.scope is PER_NAMESPACE else ("",)

    def namespaces(self, partition: str, cluster: Cluster) -> Iterable[str]:
        """The namespaces whose objects a partition is evaluated by."""
        if self.scope.by is not None:
            return {record.namespace for index in self.scope.indexes for record in cluster.sharing(index, partition)}
        return (partition,)

    def __str__(self) -> str:
        return f"check {self.id}"


class View(ClusterView):
    """One partition of the cluster, narrowed to what a check declares; it does not change while it is read."""

    __slots__ = ("_own", "_reach", "_scope", "clusters", "partition", "settings")

    def __init__(
        self, cluster: Cluster, check: Check, partition: str, settings: Any = None, seen: Seen | None = None
    ) -> None:
        """`settings` are those of the check; its defaults where there are none."""
        self._cluster, self._reader, self._seen = cluster, check, seen
        self._scope, self._reach, self.partition = check.scope, check.reach, partition
        self._own: Iterable[Record] | None = None  # what stands under the partition's key, once it was asked for
        self.clusters: Mapping[str, Sequence[Any]] = {}  # the facts of a check of several clusters, by their names
        self.settings: Any = settings if settings is not None or check.settings is None else check.settings()

    @property
    def namespace(self) -> str:
        return self.partition.partition("/")[0]

    @property
    def whole(self) -> bool:
        """Whether every kind can be seen and nobody takes down what is read: then all that counts of what is read is
        the answer, and whoever has it need not read more.
        """
        return self._seen is None

    def all(self, kind: type[R]) -> list[R]:
        """The records of a kind in this partition; of a kind that reaches everywhere, all of them."""
        reach, by = self._reach.get(kind) or self._undeclared(kind), self._scope.by
        if by is not None and reach is Reach.OWN:
            if self._own is None:
                self._own = super().sharing(by, self.partition)
            return [record for record in self._own if isinstance(record, kind)]
        if reach is Reach.CLUSTER or self._scope is PER_CLUSTER:
            return self._listed(kind, "", self._cluster.all(kind))
        return self.within(kind, self.namespace)

    def apart(self, found: Iterable[Finding | None]) -> Iterable[Finding | None]:
        """What is found of one object among several: what can't be known of it leaves the others as they are."""
        return found

    def _declared(self, kind: type[Record]) -> Reach:
        return self._reach.get(kind) or self._undeclared(kind)


# Scopes that several checks have; a check of its own kind makes its own.

PER_VM = Scope("one VM", VM, several=SEVERAL_VMS)
PER_NETWORK = Scope("one network", NETWORK, (NAD,))
