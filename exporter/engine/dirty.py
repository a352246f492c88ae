"""Which partitions of a check a change concerns, and which of them wait to be judged again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ..checks.base import Check, Scope
from ..model.cluster import Change, Cluster
from ..model.joins import MACHINE, NETWORK
from ..model.kind import Reach
from ..model.record import Record

__all__ = ["Pending", "concerned", "everything"]


def concerned(check: Check, cluster: Cluster, change: Change) -> Iterator[str]:
    """The partitions whose findings may differ after the change; some may come twice."""
    reach = next(kind.reach for kind in check.reads if kind.record is change.kind)
    records = [record for record in (change.before, change.after) if record is not None]
    if check.scope is Scope.CLUSTER or reach is Reach.CLUSTER:
        yield from everything(check, cluster)
        return
    for record in records:
        if reach is Reach.NAMESPACE:
            yield from _within(check, cluster, record.namespace)
        else:
            yield from check.partitions(record, cluster)
    indexes = check.joins if check.scope is Scope.NETWORK else check.indexes
    for index, key in change.touched:
        if index is NETWORK and check.scope is Scope.NETWORK:
            yield key  # and not by its members, of which there may be tens of thousands
        elif index is MACHINE and check.scope is Scope.MACHINE:
            yield key
            for other in cluster.sharing(index, key):
                if len(other.machines) > 1:  # it may be judged with its other machine
                    yield from check.partitions(other, cluster)
        elif index in indexes:
            for other in chain(cluster.sharing(index, key), cluster.listening(index, key)):
                yield from check.partitions(other, cluster)


def everything(check: Check, cluster: Cluster) -> Iterable[str]:
    """All partitions of a check."""
    if check.scope is Scope.CLUSTER:
        return ("",)
    if check.scope in (Scope.MACHINE, Scope.NETWORK):
        return cluster.keys(check.indexes[0])
    return {record.namespace for kind in check.reads for record in cluster.all(kind.record)}


def _within(check: Check, cluster: Cluster, namespace: str) -> Iterator[str]:
    for kind in check.reads:
        record: Record
        for record in cluster.within(kind.record, namespace):
            yield from check.partitions(record, cluster)


class Pending:
    """Partitions that wait, in the order in which they became dirty, each with the time of that.

    Those of a blocked namespace are set aside when their turn comes, until `unblock`. `homes` gives the namespaces
    that a partition is judged by.
    """

    def __init__(self, homes: Callable[[str], Iterable[str]]) -> None:
        self._homes = homes
        self._marked: dict[str, float] = {}
        self._aside: dict[str, float] = {}

    def mark(self, partitions: Iterable[str], now: float) -> None:
        for partition in partitions:
            self._marked.setdefault(partition, now)

    def take(self, before: float, blocked: frozenset[str]) -> str | None:
        """The next one that was marked no later than `before` and is not of a blocked namespace."""
        while self._marked:
            partition, marked = next(iter(self._marked.items()))
            if marked > before:
                return None
            del self._marked[partition]
            if not blocked or blocked.isdisjoint(self._homes(partition)):
                return partition
            self._aside[partition] = marked
        return None

    def unblock(self) -> None:
        self._marked, self._aside = {**self._aside, **self._marked}, {}

    @property
    def empty(self) -> bool:
        """Whether nothing waits but what was set aside."""
        return not self._marked
