"""Where one check has no answer, and why: looked for again only once something changed that it is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from ..findings.check import Check
from ..findings.finding import Unknown
from ..store.cluster import Change, Cluster
from ..store.source import UNREADABLE, Undecodable, unreadable_in
from .evaluate import Answerable, hidden, standing

# Which namespaces of one check have undecodable objects, kept so that nobody has to walk over all of these.

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


class UnknownReport(NamedTuple):
    """As it is said, and the namespaces in which there is no answer, each once."""

    unknowns: tuple[Unknown, ...] = ()
    namespaces: tuple[str, ...] = ()


class Unknowns:
    def __init__(self, check: Check, cluster: Cluster) -> None:
        self._check, self._cluster = check, cluster
        self._hidden_namespaces = HiddenNamespaces(check, cluster)
        # Why a partition has no answer: the check raised, or needs a fact that can't be read. A change makes it dirty.
        self._broken: dict[str, str] = {}
        self.any = False  # whether any object or partition is named in it
        self._standing: Answerable | None = None
        self._said, self._kept = UnknownReport(), False
        self._version = 0

    @property
    def standing(self) -> Answerable:
        if self._standing is None:
            self._standing = standing(self._check, self._cluster)
        return self._standing

    # -- what comes in

    def look_again(self) -> None:
        """After a change of how a kind is seen: the standing may be another."""
        self._standing, self._kept = None, False

    def changed(self, change: Change) -> None:
        """Takes in a change of one object of a kind that the check reads."""
        if self.any and self._moves(change):
            self._kept = False

    def _moves(self, change: Change) -> bool:
        """Whether any object may be in other partitions after it, or in one more or less."""
        if change.before is None or change.after is None:
            return True
        indexes = self._check.scope.indexes
        if any(issubclass(change.kind, index.dependents) for index in indexes):
            return True
        return any(index in change.moved for index in indexes)

    def decodability_changed(self, before: Undecodable | None, after: Undecodable | None) -> None:
        """Takes in that an object of a kind that the check reads can no longer be decoded, or that it can again."""
        self._kept = False
        either = before or after
        if either is not None and not (before and after):
            self._hidden_namespaces.count(either.namespace, 1 if after else -1)
            self._look_for_any()

    def unanswered(self, partition: str, why: str) -> None:
        """Takes in that there is no answer for a partition, although its objects can be read."""
        if self._broken.get(partition) != why:
            self._broken[partition], self._kept = why, False
            self._look_for_any()

    def answered(self, partition: str) -> None:
        """Takes in that nothing is known against its answer any more."""
        if self._broken.pop(partition, None) is not None:
            self._kept = False
            self._look_for_any()

    def clear(self) -> None:
        """Takes in that there is nothing to check."""
        self._broken.clear()
        self._kept = False
        self._look_for_any()

    def _look_for_any(self) -> None:
        self.any = bool(self._hidden_namespaces or self._broken)

    # -- what goes out

    def of(self, partition: str) -> str:
        """Why a partition has no answer, in a sentence; empty where it has one."""
        if self.standing.unseen:
            return "; ".join(self.standing.unseen)
        return self._broken.get(partition, "") or self._hidden(partition)

    def _hidden(self, partition: str) -> str:
        found = hidden(self._check, self._cluster, partition)
        return found.sentence if found else ""

    @property
    def all(self) -> tuple[Unknown, ...]:
        """Where there is no answer, and why."""
        return self._now().unknowns

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Those of which objects are in a partition without an answer, each once; none where all have none."""
        return self._now().namespaces

    @property
    def version(self) -> int:
        """Grows when there is no answer somewhere else than before, or for another reason."""
        self._now()
        return self._version

    def _now(self) -> UnknownReport:
        if not self._kept:
            said = UnknownReport(tuple(self._sentences()), tuple(self._places()))
            if said != self._said:
                self._said, self._version = said, self._version + 1
            self._kept = True
        return self._said

    def _sentences(self) -> Iterator[Unknown]:
        if self.standing.not_applicable:
            return
        yield from (Unknown(self._check.id, "", why) for why in self.standing.unseen)
        yield from self._hidden_namespaces.unknowns()
        for partition, why in islice(self._broken.items(), MOST):
            if not self._hidden(partition):  # since: its place has no answer, and why is said there
                yield Unknown(self._check.id, partition, why)
        if (more := len(self._broken) - MOST) > 0:
            yield Unknown(self._check.id, f"{more} more", "the check has no answer there either")

    def _places(self) -> Iterator[str]:
        if self.standing.not_applicable or self.everywhere:
            return
        broken = (each for partition in self._broken for each in self._check.namespaces(partition, self._cluster))
        once = {""}  # objects of the cluster have none
        for namespace in chain(self._hidden_namespaces.namespaces(), broken):
            if namespace not in once:
                once.add(namespace)
                yield namespace

    @property
    def everywhere(self) -> bool:
        """Whether no partition has an answer."""
        if self.standing.not_applicable:
            return False
        return bool(self.standing.unseen) or self._hidden_namespaces.everywhere or "" in self._broken

    @property
    def places(self) -> int:
        """How many namespaces, and single partitions, have no answer; what is unknown everywhere does not count."""
        if self.standing.not_applicable:
            return 0
        return self._hidden_namespaces.places + sum(1 for each in self._broken if each not in self._hidden_namespaces)
