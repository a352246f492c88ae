"""Which partitions of a check a change concerns, and which of them wait to be evaluated again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain

from ..checks.base import PER_CLUSTER, Check
from ..model.cluster import Change, Cluster
from ..model.index import Index
from ..model.kind import Reach
from ..model.record import Record

__all__ = ["Pending", "concerned", "everything"]


def concerned(check: Check, cluster: Cluster, change: Change) -> Iterator[str]:
    """The partitions whose findings may differ after the change; some may come twice."""
    reach = next(kind.reach for kind in check.reads if kind.record is change.kind)
    # Where it is now comes first: a finding that is there already when its old place is evaluated has only moved.
    records = [record for record in (change.after, change.before) if record is not None]
    scope = check.scope
    if scope is PER_CLUSTER or reach is Reach.CLUSTER:
        yield from everything(check, cluster)
        yield from (key for index, key in change.touched if index in scope.indexes)  # which it may have been alone in
        return
    for record in records:
        if reach is Reach.NAMESPACE:
            yield from _within(check, cluster, record.namespace)
        else:
            yield from check.partitions(record, cluster)
    own = scope.indexes
    for index, key in change.touched:
        if index in own:
            yield key  # and not by its members, of which there may be tens of thousands
            if scope.multi_key:
                yield from _across(check, cluster, index, key)
        elif index in check.weighs:
            for other in cluster.sharing(check.weighs[index], key):
                yield from check.partitions(other, cluster)
        elif index in check.joins:
            for other in chain(cluster.sharing(index, key), cluster.dependents(index, key)):
                yield from check.partitions(other, cluster)


def _across(check: Check, cluster: Cluster, index: Index, key: str) -> Iterator[str]:
    for other in cluster.sharing(index, key):
        partitions = tuple(check.partitions(other, cluster))
        if len(partitions) > 1:
            yield from partitions


def everything(check: Check, cluster: Cluster) -> Iterable[str]:
    """All partitions of a check."""
    if check.scope is PER_CLUSTER:
        return ("",)
    if check.scope.by is not None:
        return cluster.keys(check.scope.by)
    return {record.namespace for kind in check.reads for record in cluster.all(kind.record)}


def _within(check: Check, cluster: Cluster, namespace: str) -> Iterator[str]:
    for kind in check.reads:
        record: Record
        for record in cluster.within(kind.record, namespace):
            yield from check.partitions(record, cluster)


class Pending:
    """Partitions that wait, in the order in which they became dirty, each with the time of that.

    One that can't be evaluated for now is deferred when its turn comes, until `resume`.
    """

    def __init__(self) -> None:
        # A dict would be searched from its first place on, past all that were taken.
        self._dirty_since: OrderedDict[str, float] = OrderedDict()
        self._deferred: dict[str, float] = {}

    def add(self, partitions: Iterable[str], now: float) -> None:
        for partition in partitions:
            self._dirty_since.setdefault(partition, now)

    def take(self, before: float) -> tuple[str, float] | None:
        """The next one that became dirty no later than `before`, with the time of that."""
        if not self._dirty_since:
            return None
        partition, since = next(iter(self._dirty_since.items()))
        if since > before:
            return None
        del self._dirty_since[partition]
        return partition, since

    def defer(self, partition: str, since: float) -> None:
        self._deferred[partition] = since

    def resume(self) -> None:
        if self._deferred:
            self._dirty_since, self._deferred = OrderedDict({**self._deferred, **self._dirty_since}), {}

    def clear(self) -> None:
        self._dirty_since.clear()
        self._deferred.clear()

    @property
    def oldest(self) -> float | None:
        """When the first of those that wait became dirty; None where nothing waits but what was set aside."""
        return next(iter(self._dirty_since.values()), None)

    @property
    def empty(self) -> bool:
        """Whether nothing waits but what was deferred."""
        return not self._dirty_since
