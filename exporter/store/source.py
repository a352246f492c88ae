"""The sync state of each kind, and the undecodable objects.

They are kinds themselves, so that a check can evaluate them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from ..facts.record import Record, Ref
from .cluster import Cluster
from .index import ByName, Index
from .kind import Kind

FILE = "File"  # the kind of an Undecodable that is a whole file of a dump


class SyncState(StrEnum):
    """How current the records of one kind are."""

    STARTING = "starting"  # never listed yet
    LIVE = "live"  # listed, and changes arrive
    BEHIND = "behind"  # listed once, now reconnecting; records may be moments old
    STALE = "stale"  # behind for too long
    FAILING = "failing"  # never listed, and the API server answers with errors
    FORBIDDEN = "forbidden"
    ABSENT = "absent"  # not served by this cluster
    READ = "read"  # from a dump, or listed by a command because it may not be watched
    MISSING = "missing"  # in no file of the dump, or not all of it


class Source(Record, frozen=True, gc=False):
    """The source of one kind; `name` is the kind's name. `within` are the namespaces in which all of it is seen,
    although it may not be listed everywhere.
    """

    resource: str
    sync_state: SyncState
    why: str  # one sentence, empty while live
    since: float  # seconds since 1970 of the last change of sync_state
    optional: bool  # a healthy cluster may not serve it
    within: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the API server has answered at all."""
        return self.sync_state not in (SyncState.STARTING, SyncState.FAILING)

    @property
    def current(self) -> bool:
        """Whether checks that read it can be evaluated now: no missed events are still to come."""
        none = self.optional and self.sync_state is SyncState.ABSENT  # not served: there are no objects
        return none or self.sync_state in (SyncState.LIVE, SyncState.READ)

    @property
    def readable(self) -> bool:
        """Whether the records are true, give or take moments."""
        return self.current or self.sync_state is SyncState.BEHIND


class Undecodable(Record, frozen=True, gc=False):
    """An object that exists and cannot be decoded; `name` is its kind and its name."""

    kind: str
    object_name: str
    why: str
    first_seen: float
    resource: str = ""  # of its kind, as its Source has it; empty where there is none

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.namespace, self.object_name, self.uid)

    @property
    def sentence(self) -> str:
        return f"{self.ref} could not be read: {self.why}"


def _by_itself(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, Source):
        return (record.name,)
    return (f"{record.namespace}/{record.name}",) if isinstance(record, Undecodable) else ()


def unseen(cluster: Cluster, kinds: Iterable[type[Record]]) -> tuple[str, ...]:
    """The names of the kinds whose records are not current."""
    sources = ((kind.__name__, cluster.get(Source, "", kind.__name__)) for kind in kinds)
    return tuple(name for name, source in sources if source is None or not source.readable)


def not_served(cluster: Cluster, kinds: Iterable[Kind[Any]]) -> str:
    """A sentence on the first of the kinds that the cluster does not serve; empty where it serves all."""
    sources = (cluster.get(Source, "", kind.name) for kind in kinds)
    absent = (source.resource for source in sources if source is not None and source.sync_state is SyncState.ABSENT)
    return next((f"the cluster does not serve {resource}" for resource in absent), "")


def unreadable_in(kind: str, namespace: str) -> str:
    """The key of the undecodable objects of a kind in one namespace, or in none where it is empty."""
    return f"{kind} {namespace}"


def _unreadable(record: Record, _: ByName) -> Iterable[str]:
    return (record.kind, unreadable_in(record.kind, record.namespace)) if isinstance(record, Undecodable) else ()


SOURCE = Source.KIND = Kind(Source)
UNDECODABLE = Undecodable.KIND = Kind(Undecodable)
# The undecodable objects of a kind, and those of a kind in one namespace.
UNREADABLE = Index("undecodable", _unreadable, of=(Undecodable,))
# Each kind and each undecodable object by itself: of these there may be thousands.
BY_ITSELF = Index("by itself", _by_itself, of=(Source, Undecodable))
