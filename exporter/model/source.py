"""How well we see: the state of each kind's source, and the objects that could not be decoded.

They stand among the kinds, so that a check evaluates them like anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from .cluster import Cluster
from .index import Index, Lookup
from .kind import Kind
from .record import Record, Ref

__all__ = ["FILE", "SOURCE", "UNDECODABLE", "UNREADABLE", "Source", "SyncState", "Undecodable", "unseen"]

FILE = "File"  # the kind of an Undecodable that stands for a whole file of a dump


class SyncState(StrEnum):
    """What we can say of one kind now."""

    STARTING = "starting"  # never listed yet
    LIVE = "live"  # listed, and changes arrive
    BEHIND = "behind"  # listed once, connecting again; what we hold may be old by moments
    STALE = "stale"  # behind for too long
    FAILING = "failing"  # never listed, and the API server answers with errors
    FORBIDDEN = "forbidden"
    ABSENT = "absent"  # not served by this cluster
    READ = "read"  # out of a dump, which does not change
    MISSING = "missing"  # in no file of a dump


class Source(Record, frozen=True, gc=False):
    """The source of one kind; `name` is the kind's name."""

    resource: str
    sync_state: SyncState
    why: str  # one sentence, empty while live
    since: float  # seconds since 1970 at which it came into this state
    optional: bool  # a healthy cluster may not serve it

    @property
    def settled(self) -> bool:
        """Whether the API server has given an answer of some kind."""
        return self.sync_state not in (SyncState.STARTING, SyncState.FAILING)

    @property
    def current(self) -> bool:
        """Whether it can be evaluated now: what comes is not about to catch up with what we missed."""
        none = self.optional and self.sync_state is SyncState.ABSENT  # not served: there is none of it
        return none or self.sync_state in (SyncState.LIVE, SyncState.READ)

    @property
    def readable(self) -> bool:
        """Whether what we hold of this kind is the truth, up to moments."""
        return self.current or self.sync_state is SyncState.BEHIND


class Undecodable(Record, frozen=True, gc=False):
    """An object that is there and could not be read; `name` is its kind and its name."""

    kind: str
    object_name: str
    why: str
    first_seen: float

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.namespace, self.object_name, self.uid)


def unseen(cluster: Cluster, kinds: Iterable[type[Record]]) -> tuple[str, ...]:
    """The names of those kinds that can't be seen now."""
    sources = ((kind.__name__, cluster.get(Source, "", kind.__name__)) for kind in kinds)
    return tuple(name for name, source in sources if source is None or not source.readable)


def _unreadable(record: Record, _: Lookup) -> Iterable[str]:
    return (record.kind, f"{record.kind} {record.namespace}") if isinstance(record, Undecodable) else ()


SOURCE = Kind(Source)
UNDECODABLE = Kind(Undecodable)
# The undecodable objects of a kind, and those of a kind in one namespace.
UNREADABLE = Index("undecodable", _unreadable)
