"""Which namespaces of one check have undecodable objects, kept so that nobody has to walk over all of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ..findings.check import Check
from ..findings.finding import Unknown
from ..store.cluster import Cluster
from ..store.source import UNREADABLE, Undecodable, unreadable_in

MOST = 100  # places of a check that are named
_MOST_OBJECTS = 10  # objects of one place that are named
_MOST_PARTS = 5  # partitions beyond a place that are named
_LOOKED_AT = 1000  # objects of the places by which those partitions are found


class HiddenNamespaces:
    def __init__(self, check: Check, cluster: Cluster) -> None:
        self._check, self._cluster = check, cluster
        self._objects: Counter[str] = Counter()  # by namespace

    def __contains__(self, namespace: object) -> bool:
        return namespace in self._objects

    def __bool__(self) -> bool:
        return bool(self._objects)

    def count(self, namespace: str, more: int) -> None:
        """Takes in that there are so many more undecodable objects, or fewer, of the kinds that the check reads."""
        self._objects[namespace] += more
        if not self._objects[namespace]:
            del self._objects[namespace]

    @property
    def everywhere(self) -> bool:
        """Whether no partition of the check has an answer."""
        return bool(self._objects) if self._check.scope.whole else "" in self._objects

    @property
    def places(self) -> int:
        """In how many namespaces there is no answer; those that are everywhere do not count."""
        return 0 if self._check.scope.whole else len(self._objects) - ("" in self._objects)

    def namespaces(self) -> Iterator[str]:
        """Those in which there is no answer, and those that share a partition with them; one may come twice."""
        if self._check.scope.whole:
            return
        yield from tuple(self._objects)
        for parts in self._beyond().values():
            for partition in parts:
                yield from self._check.namespaces(partition, self._cluster)

    def unknowns(self) -> Iterator[Unknown]:
        """A sentence for each object, and how far that reaches; where there are many, how many more there are."""
        for namespace in islice(self._objects, MOST):
            partition = "" if self._check.scope.whole else namespace
            for each in islice(self._of(namespace), _MOST_OBJECTS):
                yield Unknown(self._check.id, partition, each.sentence)
            if (more := self._objects[namespace] - _MOST_OBJECTS) > 0:
                yield Unknown(self._check.id, partition, f"{_objects(more)} of this place could not be read either")
        for namespace, parts in self._beyond().items():
            more = len(parts) - _MOST_PARTS
            named = ", ".join([*parts[:_MOST_PARTS], *([f"{more} more"] if more > 0 else ())])
            why = f"no answer either where objects of this namespace count ({self._check.scope.title}): {named}"
            yield Unknown(self._check.id, namespace, why)
        if (places := len(self._objects) - MOST) > 0:
            more = sum(islice(self._objects.values(), MOST, None))
            why = f"{_objects(more)} of these namespaces could not be read either"
            yield Unknown(self._check.id, f"{places} more", why)

    def _beyond(self) -> dict[str, list[str]]:
        """The partitions that are not within a namespace and have no answer by it; of many objects, by the first."""
        found: dict[str, dict[str, None]] = {}
        if self.everywhere or self._check.scope.by is None:
            return {}
        here = (
            (namespace, record)
            for namespace in islice(self._objects, MOST)
            for kind in self._check.reads
            for record in self._cluster.within(kind.record, namespace)
        )
        for namespace, record in islice(here, _LOOKED_AT):
            for partition in self._check.partitions(record, self._cluster):
                if not partition.rpartition(" ")[2].startswith(f"{namespace}/"):
                    found.setdefault(namespace, {})[partition] = None
        return {namespace: sorted(parts) for namespace, parts in found.items()}

    def _of(self, namespace: str) -> Iterator[Undecodable]:
        for kind in self._check.reads:
            for record in self._cluster.sharing(UNREADABLE, unreadable_in(kind.name, namespace)):
                if isinstance(record, Undecodable):
                    yield record


def _objects(count: int) -> str:
    return f"{count} more object{'' if count == 1 else 's'}"
