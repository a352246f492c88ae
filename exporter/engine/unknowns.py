"""Where one check has no answer, and why: looked for again only once something changed that it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from ..findings.check import Check
from ..findings.evaluate import Answerable, hidden, standing
from ..findings.finding import Unknown
from ..store.change import Change
from ..store.cluster import Cluster
from ..store.source import Undecodable
from .hidden import MOST, HiddenNamespaces


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
