"""Which partitions of a check a change concerns, and which of them wait to be evaluated again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeAlias

from ..checks.base import PER_CLUSTER, Check
from ..model.cluster import Change, Cluster
from ..model.index import Index
from ..model.kind import Reach
from ..model.record import Record

__all__ = ["Crowd", "Pending", "affected", "concerned", "crowd", "crowds", "everything"]

_Group: TypeAlias = dict[str, None]  # partitions

Crowd: TypeAlias = tuple[Index | None, str]
"""All that stands under a key of an index; without an index, in a namespace, or after `*` in all partitions that begin
with a text.
"""

_ALL = "*"
_CLUSTER: Crowd = (None, _ALL)
_FEW = 16  # partitions that are as soon added again as remembered
_MANY = 500  # that become dirty at once are kept together
_MOST_CROWDS = 100  # that are remembered


def affected(check: Check, cluster: Cluster, change: Change) -> Iterator[str]:
    """All partitions whose answer a change that concerns the check may alter; some may come twice."""
    yield from concerned(check, cluster, change)
    for each, _ in crowds(check, cluster, change):
        yield from crowd(check, cluster, each)


def concerned(check: Check, cluster: Cluster, change: Change) -> Iterator[str]:
    """The partitions that the object is in or was in, and those of which it may have been all there was; some may come
    twice.
    """
    reach = check.reach[change.kind]
    if reach is not Reach.OWN:
        yield from (key for index, key in reversed(change.touched) if index in check.scope.indexes)
        return
    # Where it is now comes first: a finding that is there already when its old place is evaluated has only moved.
    for record in (change.after, change.before):
        if record is not None:
            yield from check.partitions(record, cluster)
    # By the key and not by its members, of which there may be tens of thousands.
    yield from (key for index, key in change.touched if index in check.scope.indexes)


def crowds(check: Check, cluster: Cluster, change: Change) -> Iterator[tuple[Crowd, bool]]:
    """By what the change concerns other objects, and whether it may have brought others in there than its own."""
    reach = check.reach[change.kind]
    swayed = {check.sways[index] for index, key in _moved(check, change) if _few(cluster, index, key, change)}
    if check.scope is PER_CLUSTER or reach is Reach.CLUSTER or "" in swayed:
        yield _CLUSTER, False
        return
    yield from (((None, _ALL + beginning), False) for beginning in swayed)
    if reach is Reach.NAMESPACE:
        yield from (((None, record.namespace), False) for record in (change.after, change.before) if record is not None)
    for index, key in change.touched:
        if index in check.scope.indexes:
            if check.scope.multi_key:
                yield (index, key), _reads_through(index, change)
        elif index in check.weighs:
            few = check.weighs[index]
            yield (index, key), _reads_through(index, change) or _reads_through(few, change)
        elif index in check.joins and change.kind in check.heeds.get(index, (change.kind,)):
            yield (index, key), _reads_through(index, change)


def _moved(check: Check, change: Change) -> Iterator[tuple[Index, str]]:
    """The keys of the indexes that sway the check."""
    return (each for each in change.moved if each[0] in check.sways)


def _few(cluster: Cluster, index: Index, key: str, change: Change) -> bool:
    """Whether one or none is under the key now, or was before."""
    left = len(tuple(islice(cluster.sharing(index, key), 3)))
    return left < 2 or (left == 2 and change.after is not None and key in cluster.keys_of(index, change.after))


def _reads_through(index: Index, change: Change) -> bool:
    return any(kind is change.kind for kind, _ in index.through)


def crowd(check: Check, cluster: Cluster, of: Crowd) -> Iterable[str]:
    """The partitions of a crowd; some may come twice. Each has an object in it."""
    index, key = of
    if of == _CLUSTER:
        return everything(check, cluster)
    if index is None and key.startswith(_ALL):
        return (each for each in everything(check, cluster) if each.startswith(key.removeprefix(_ALL)))
    if index is None:
        return _within(check, cluster, key)
    if index in check.scope.indexes:
        return _across(check, cluster, index, key)
    found = (
        cluster.sharing(check.weighs[index], key)
        if index in check.weighs
        else chain(cluster.sharing(index, key), cluster.dependents(index, key))
    )
    return (partition for record in found for partition in check.partitions(record, cluster))


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
    return dict.fromkeys(record.namespace for kind in check.reads for record in cluster.all(kind.record))


def _within(check: Check, cluster: Cluster, namespace: str) -> Iterator[str]:
    for kind in check.reads:
        record: Record
        for record in cluster.within(kind.record, namespace):
            yield from check.partitions(record, cluster)


class Pending:
    """Partitions that wait, in the order in which they became dirty, each with the time of that.

    One that an undecodable object leaves without an answer is deferred when its turn comes: it waits by the `hidden_by`
    of that object until `resume`, and costs nothing meanwhile. Of many that become dirty at once, the whole fleet
    maybe, only the time of all is kept: to take each of them in would block the event loop.
    """

    def __init__(self) -> None:
        # A dict would be searched from its first place on, past all that were taken.
        self._dirty_since: OrderedDict[str, float] = OrderedDict()
        self._deferred: dict[str, _Group] = {}
        self._resumed: deque[tuple[float, _Group]] = deque()  # whole groups: of one there may be tens of thousands
        self._group_of: dict[str, _Group] = {}  # of both, by the partition
        self._many: _Group = {}
        self._many_since = 0.0
        # All of which wait, since none was taken: thousands of objects of one crowd may change one after the other.
        self._whole: set[Crowd] = set()

    def add(self, partitions: Iterable[str], now: float) -> None:
        for partition in partitions:
            if partition not in self._many:
                self._dirty_since.setdefault(partition, now)

    def add_many(self, partitions: _Group, now: float) -> None:
        """The same, for as many as there may be; the group is not to be used by anybody else."""
        if len(partitions) <= _MANY:
            self.add(partitions, now)
        elif self._many:
            self._many.update(partitions)
        else:
            self._many, self._many_since = partitions, now

    def add_crowd(self, of: Crowd, partitions: Callable[[], Iterable[str]], now: float, *, brings: bool) -> None:
        """With `brings`, others than the object that changed may have come into the crowd."""
        if not brings and of in self._whole:
            return
        found = dict.fromkeys(partitions())
        size = len(found)
        self.add_many(found, now)
        if size > _FEW:
            if len(self._whole) >= _MOST_CROWDS:  # while nobody evaluates none is taken
                self._whole.clear()
            self._whole.add(of)

    def take(self, before: float) -> str | None:
        """The next one that became dirty no later than `before`."""
        since = self.oldest
        if since is None or since > before:
            return None
        self._whole.clear()
        if self._many and self._many_since == since:
            partition, _ = self._many.popitem()
        elif self._resumed and self._resumed[0][0] == since:
            partition, _ = self._resumed[0][1].popitem()  # without a search past all that were taken
        else:
            partition = next(iter(self._dirty_since))
        self.discard(partition)
        return partition

    def discard(self, partition: str) -> None:
        """Takes out one that need not be evaluated any more."""
        self._dirty_since.pop(partition, None)
        self._many.pop(partition, None)
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
        self._many = {}  # not cleared: that takes its time at once
        for each in (self._dirty_since, self._deferred, self._resumed, self._group_of, self._whole):
            each.clear()

    def __contains__(self, partition: object) -> bool:
        """Whether it waits, or was deferred."""
        return partition in self._dirty_since or partition in self._many or partition in self._group_of

    @property
    def oldest(self) -> float | None:
        """When the first of those that wait became dirty; None where nothing waits but what was deferred."""
        first = [next(iter(self._dirty_since.values()), None)]
        first.append(self._resumed[0][0] if self._resumed else None)
        first.append(self._many_since if self._many else None)
        return min((each for each in first if each is not None), default=None)

    @property
    def empty(self) -> bool:
        """Whether nothing waits but what was deferred."""
        return not self._dirty_since and not self._many and not self._resumed
