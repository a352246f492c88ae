"""Which partitions of a check a change concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias

from ..facts.record import Record
from ..findings.check import PER_CLUSTER, Check
from ..store.cluster import Change, Cluster
from ..store.index import Index
from ..store.kind import Reach

Crowd: TypeAlias = tuple[Index | None, str]
"""All that stands under a key of an index; without an index, in a namespace, or after `*` in all partitions that begin
with a text.
"""

_ALL = "*"
CLUSTER: Crowd = (None, _ALL)
_FEW = 16  # members that are as soon looked through as remembered


def affected(check: Check, cluster: Cluster, change: Change) -> Iterator[str]:
    """All partitions whose answer a change that concerns the check may alter; some may come twice."""
    yield from concerned(check, cluster, change)
    for each in crowds(check, cluster, change):
        yield from chain.from_iterable(crowd(check, cluster, each))


def concerned(check: Check, cluster: Cluster, change: Change) -> Sequence[str]:
    """The partitions that the object is in or was in, and those of which it may have been all there was; some may come
    twice.
    """
    # Where it is now comes first: a finding that is there already when its old place is evaluated has only moved.
    if check.reach[change.kind] is not Reach.OWN:
        return [key for index in check.scope.indexes for key in reversed(change.touched.get(index, ()))]
    if check.scope.by is None:
        records = (each for each in (change.after, change.before) if each is not None)
        return [partition for record in records for partition in check.partitions(record, cluster)]
    # By the key and not by its members, of which there may be tens of thousands.
    found = change.own.get(check.scope.by, ())
    for index in check.scope.indexes:
        found += change.touched.get(index, ())
    return found


def crowds(check: Check, cluster: Cluster, change: Change) -> Iterator[Crowd]:
    """By what the change concerns other objects."""
    reach = check.reach[change.kind]
    swayed = _swayed(check, cluster, change) if check.presences else set()
    if check.scope is PER_CLUSTER or reach is Reach.CLUSTER or "" in swayed:
        yield CLUSTER
        return
    yield from ((None, _ALL + beginning) for beginning in swayed)
    if reach is Reach.NAMESPACE:
        yield from ((None, record.namespace) for record in (change.after, change.before) if record is not None)
    for index in check.crowding:
        keys = change.touched.get(index)
        if not keys:
            continue
        lookup = check.lookups.get(index)
        if index in check.scope.indexes and not (lookup and lookup.concerns):
            if check.scope.several:
                yield from ((index, key) for key in keys)
        elif lookup and (not lookup.changes_of or change.kind in lookup.changes_of):
            yield from ((index, key) for key in keys)


def _swayed(check: Check, cluster: Cluster, change: Change) -> set[str]:
    """How the partitions begin that a change of what is present concerns."""
    found = {
        presence.partitions
        for index, presence in check.presences.items()
        if any(_makes_a_difference(cluster, index, key, change) for key in change.moved.get(index, ()))
    }
    return found | {each.partitions for index, each in check.watched.items() if index in change.touched}


def _makes_a_difference(cluster: Cluster, index: Index, key: str, change: Change) -> bool:
    """Whether one or none is under the key now, or was before."""
    left = len(tuple(islice(cluster.sharing(index, key), 3)))
    return left < 2 or (left == 2 and change.after is not None and key in cluster.keys_of(index, change.after))


def few(check: Check, cluster: Cluster, of: Crowd) -> bool:
    """Whether a crowd has so few members that they are soon looked through."""
    index, key = of
    if of == CLUSTER:
        return len(tuple(islice(everything(check, cluster), _FEW + 1))) <= _FEW
    if index is None:
        return False  # a namespace, or all that begin with a text
    index = _members_by(check, index)
    return cluster.shared_by(index, key) + cluster.depending(index, key) <= _FEW


def crowd(check: Check, cluster: Cluster, of: Crowd) -> Iterator[Iterable[str]]:
    """The partitions of each member of a crowd; some may come twice. The cluster may change between two members."""
    index, key = of
    if of == CLUSTER:
        yield from ((partition,) for partition in everything(check, cluster))
    elif index is None and key.startswith(_ALL):
        beginning = key.removeprefix(_ALL)
        yield from ((each,) if each.startswith(beginning) else () for each in everything(check, cluster))
    elif index is None:
        yield from _within(check, cluster, key)
    else:
        index = _members_by(check, index)
        for record in chain(cluster.sharing(index, key), cluster.dependents(index, key)):
            yield check.partitions(record, cluster)


def _members_by(check: Check, index: Index) -> Index:
    """The index under whose key the members of a crowd are."""
    if index in check.scope.indexes:
        return check.scope.several or index
    lookup = check.lookups.get(index)
    return lookup.concerns if lookup and lookup.concerns else index


def everything(check: Check, cluster: Cluster) -> Iterable[str]:
    """All partitions of a check. The cluster may change between two of them."""
    if check.scope is PER_CLUSTER:
        return ("",)
    if check.scope.by is not None:
        return cluster.keys(check.scope.by)
    return dict.fromkeys(namespace for kind in check.reads for namespace in cluster.namespaces(kind.record))


def _within(check: Check, cluster: Cluster, namespace: str) -> Iterator[Iterable[str]]:
    for kind in check.reads:
        record: Record
        for record in tuple(cluster.within(kind.record, namespace)):
            yield check.partitions(record, cluster)
