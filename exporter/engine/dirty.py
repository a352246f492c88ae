"""Which partitions of a check a change concerns, and which of them wait to be evaluated again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from ..checks.base import PER_CLUSTER, Check
from ..model.cluster import Change, Cluster
from ..model.index import Index
from ..model.kind import Reach
from ..model.record import Record

__all__ = ["Pending", "concerned", "everything"]


_Group: TypeAlias = dict[str, None]  # partitions


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

    One that an undecodable object leaves without an answer is deferred when its turn comes: it waits by the `hidden_by`
    of that object until `resume`, and costs nothing meanwhile.
    """

    def __init__(self) -> None:
        # A dict would be searched from its first place on, past all that were taken.
        self._dirty_since: OrderedDict[str, float] = OrderedDict()
        self._deferred: dict[str, _Group] = {}
        self._resumed: deque[tuple[float, _Group]] = deque()  # whole groups: of one there may be tens of thousands
        self._group_of: dict[str, _Group] = {}  # of both, by the partition

    def add(self, partitions: Iterable[str], now: float) -> None:
        for partition in partitions:
            self._dirty_since.setdefault(partition, now)

    def take(self, before: float) -> str | None:
        """The next one that became dirty no later than `before`."""
        since = self.oldest
        if since is None or since > before:
            return None
        if self._resumed and self._resumed[0][0] == since:
            partition, _ = self._resumed[0][1].popitem()  # without a search past all that were taken
        else:
            partition = next(iter(self._dirty_since))
        self.discard(partition)
        return partition

    def discard(self, partition: str) -> None:
        """Takes out one that need not be evaluated any more."""
        self._dirty_since.pop(partition, None)
        group = self._group_of.pop(partition, None)
        if group is not None:
            group.pop(partition, None)
            while self._resumed and not self._resumed[0][1]:
                self._resumed.popleft()

    def defer(self, partition: str, hidden_by: str) -> None:
        group = self._deferred.setdefault(hidden_by, {})
        group[partition] = None
        self._group_of[partition] = group

    def resume(self, hidden_by: str, now: float) -> None:
        """What was deferred by it is dirty from now on."""
        group = self._deferred.pop(hidden_by, None)
        if group:
            self._resumed.append((now, group))

    def clear(self) -> None:
        for each in (self._dirty_since, self._deferred, self._resumed, self._group_of):
            each.clear()

    def __contains__(self, partition: object) -> bool:
        """Whether it waits, or was deferred."""
        return partition in self._dirty_since or partition in self._group_of

    @property
    def oldest(self) -> float | None:
        """When the first of those that wait became dirty; None where nothing waits but what was deferred."""
        dirty = next(iter(self._dirty_since.values()), None)
        resumed = self._resumed[0][0] if self._resumed else None
        return resumed if dirty is None or (resumed is not None and resumed < dirty) else dirty

    @property
    def empty(self) -> bool:
        """Whether nothing waits but what was deferred."""
        return not self._dirty_since and not self._resumed
