"""What the engine keeps for one check: its findings, which partitions wait, where it has no answer, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from ..facts.record import Record
from ..findings.check import PER_CLUSTER, Check
from ..findings.finding import Finding
from ..store.cluster import Change, Cluster
from ..store.source import UNREADABLE, Undecodable, unreadable_in
from .affected import CLUSTER, Crowd, concerned, crowd, crowds, everything, few
from .evaluate import Answer, Answerable, evaluating
from .finding_store import Complete, FindingStore
from .pending import Pending
from .turn import Turn
from .unknowns import Unknowns

_EACH_APART = 100  # crowds of one change that are looked at one by one at once


class _Nothing:
    """That nothing is due."""


_NOTHING = _Nothing()


@dataclass(slots=True)
class Evaluated:
    """What one check has cost and done so far."""

    partitions: int = 0
    seconds: float = 0.0
    errors: int = 0
    once: bool = False  # all that was there when the check could first answer


class Ended(NamedTuple):
    """What an evaluation of a partition has come to, with its findings as they are kept."""

    partition: str
    answer: Answer
    found: Complete


@dataclass(slots=True)
class _Running:
    """An evaluation in the midst of a partition: of thousands of objects, for which one turn is not enough."""

    partition: str
    due: float  # no later than then it was due
    evaluation: Generator[None, None, Ended]


@dataclass
class Work:
    check: Check
    cluster: Cluster
    settings: Any
    evaluated: Evaluated = field(default_factory=Evaluated)
    pending: Pending = field(default_factory=Pending)

    def __post_init__(self) -> None:
        self.findings = FindingStore(self.check)
        self.unknowns = Unknowns(self.check, self.cluster)
        self._kinds = {kind.name: kind.record for kind in self.check.reads}
        self._answers_since: float | None = None
        # Since when it evaluates: until then all is to be evaluated, and of changes only the first counts.
        self._begun: float | None = None
        self._missed: set[type[Record]] = set()  # kinds without which something was evaluated
        # All that was there was evaluated, if without some kind, since a kind was there for the first time.
        self._partly_once, self._partly_since = False, 0.0
        self._never_there = {*self._kinds.values()}
        self._dirty_since: float | None = None
        self._running: _Running | None = None
        self.idle = False  # nothing waits, and nothing that it depends on is otherwise than at the last step

    @property
    def standing(self) -> Answerable:
        return self.unknowns.standing

    def evaluates(self, now: float) -> bool:
        """Whether anything can be evaluated at all. Once it can for the first time, everything is dirty; and again once
        a kind is there without which something was evaluated.
        """
        standing = self.standing  # each change asks it of each check
        if not standing.answers:
            self._answers_since = None
        elif self._answers_since is None:
            self._answers_since = now
        if not standing.evaluates:
            return False
        if not self._never_there <= standing.blind:
            # What is found with a kind that was never there before may be as old as what is found at the start.
            self._never_there &= standing.blind
            self._partly_once, self._partly_since = False, now
        if self._begun is None:
            self._begun = now
            self.add_everything(now if self._dirty_since is None else self._dirty_since)
        elif self._missed - standing.blind:
            self._missed.clear()
            self.add_everything(now)
        return True

    def initial(self, answer: Answer) -> bool:
        """Whether what was found may have been there before anybody looked."""
        return not (self.evaluated.once or (answer.partial and self._partly_once))

    def changed(self, change: Change, now: float) -> None:
        """Takes in a change of one object that concerns the check."""
        self.idle = False
        if self.unknowns.any:
            self.unknowns.changed(change)
        if self._begun is None:
            if self._dirty_since is None:
                self._dirty_since = now
            return
        if self.standing.not_applicable:
            return
        partitions = concerned(self.check, self.cluster, change)
        if self.standing.evaluates or not (change.moved or change.after is None):
            self.pending.add(partitions, now)
        else:
            for partition in partitions:  # nobody evaluates them for now, perhaps for ever: none may stay behind
                if self.holds(partition):
                    self.pending.add((partition,), now)
                else:
                    self.forget(partition)
        found = tuple(crowds(self.check, self.cluster, change))
        if len(found) <= _EACH_APART:
            for each in found:
                self._add_crowd(each, partial(crowd, self.check, self.cluster, each), now)
        else:
            self.pending.add_crowd(None, partial(self._members, found), now)
        if self.pending.crowded and not self.standing.evaluates:
            self.pending.drop_crowds()
            self.add_everything(now)

    def _members(self, found: Iterable[Crowd]) -> Iterator[Iterable[str]]:
        return chain.from_iterable(crowd(self.check, self.cluster, each) for each in found)

    def _add_crowd(self, of: Crowd, members: Callable[[], Iterable[Iterable[str]]], now: float) -> None:
        if few(self.check, self.cluster, of):
            self.pending.add(chain.from_iterable(members()), now)
        else:
            self.pending.add_crowd(of, members, now)

    def add_everything(self, now: float) -> None:
        """Has all partitions evaluated, those that hold findings of what is gone among them."""
        self.idle = False
        self._add_crowd(CLUSTER, self._everything, now)

    def _everything(self) -> Iterator[Iterable[str]]:
        yield from ((partition,) for partition in everything(self.check, self.cluster))
        yield from ((partition,) for partition in self.findings.partitions())

    def drop(self) -> tuple[Finding, ...]:
        """Drops all that waits and was found, and gives what was open: there is nothing to check."""
        self.pending.clear()
        self.unknowns.clear()
        return self.findings.clear()

    def decodability_changed(self, before: Undecodable | None, after: Undecodable | None, now: float) -> None:
        """Takes in that an object can no longer be decoded, or that it can again."""
        either = before or after
        if either is None or either.kind not in self._kinds:
            return
        self.idle = False
        self.unknowns.decodability_changed(before, after)
        key = unreadable_in(either.kind, either.namespace)
        if before and not after and self.cluster.first(UNREADABLE, key) is None:
            self.pending.resume(key, now)

    def defer(self, partition: str, hidden_by: Undecodable) -> None:
        """Has it wait until `hidden_by`, and its like of the same namespace, are gone."""
        if self.holds(partition):
            self.pending.defer(partition, unreadable_in(hidden_by.kind, hidden_by.namespace))

    def evaluations(
        self, before: float, clock: Callable[[], float], turn: Turn, *, new: bool = True
    ) -> Iterator[Ended | None]:
        """Evaluates what became dirty no later than `before`: the outcome of a partition, or None where nothing is
        known yet and others may have their turn. Without `new` no other partition is begun. `clock` gives seconds
        since 1970.
        """
        due = self.pending.due(before)
        while True:
            turn.begin_partition()
            running = self._running
            if running is None:
                partition = next(due, _NOTHING) if new else _NOTHING
                if isinstance(partition, _Nothing):
                    return
                if partition is None:
                    yield None
                    continue
                evaluation = self._evaluating(partition, clock(), turn.pauses)
            else:
                partition, evaluation = running.partition, running.evaluation
            try:
                next(evaluation)
            except StopIteration as ended:
                self._running = None
                yield ended.value
            else:
                self._running = running or _Running(partition, before, evaluation)
                yield None

    def _evaluating(self, partition: str, now: float, pauses: Callable[[], bool]) -> Generator[None, None, Ended]:
        if self.standing.blind:
            self._missed |= self.standing.blind
        answer = yield from evaluating(
            self.check, self.cluster, partition, self.settings, known=self.standing, pauses=pauses
        )
        if not answer.findings:
            return Ended(partition, answer, {})
        return Ended(partition, answer, (yield from self.findings.completing(partition, answer.findings, now, pauses)))

    @property
    def runs(self) -> bool:
        """Whether an evaluation is in the midst of a partition: the cluster must not change, or it begins again."""
        return self._running is not None

    def look_again(self) -> None:
        """After a change of how a kind is seen."""
        self.idle = False
        self.unknowns.look_again()

    def grace_ended(self, partition: str, due: float) -> None:
        """Has a partition evaluated once more, since a finding in it came out of its grace."""
        self.idle = False
        self.pending.add((partition,), due)

    def interrupt(self) -> None:
        """After a change of the cluster or the settings: what is in the midst of a partition begins again."""
        self.idle = False
        running, self._running = self._running, None
        if running is not None and running.partition not in self.pending:
            self.pending.add((running.partition,), running.due)

    @property
    def oldest(self) -> float | None:
        """When the first of those that wait became dirty, or are evaluated; None where there are none."""
        waits = self.pending.oldest
        if self._running is None:
            return waits
        return self._running.due if waits is None else min(waits, self._running.due)

    def worked_off(self, before: float) -> bool:
        """Whether nothing is due of what became dirty no later than `before`."""
        oldest = self.oldest
        if oldest is not None and (oldest <= before or self.runs):
            return False
        if not self.standing.answers:
            self._partly_once = self._partly_once or oldest is None or oldest > self._partly_since
        elif not self.evaluated.once:
            self.evaluated.once = oldest is None or oldest > (self._answers_since or 0.0)
        return True

    def holds(self, partition: str) -> bool:
        """Whether anything of the partition is there, or was found there."""
        if self.check.scope is PER_CLUSTER or self.findings.holds(partition):
            return True
        if self.check.scope.by is not None:
            return any(self.cluster.first(index, partition) is not None for index in self.check.scope.indexes)
        return any(self.cluster.within(kind.record, partition) for kind in self.check.reads)

    def forget(self, partition: str) -> None:
        """Drops what waits for a partition of which nothing is there."""
        self.pending.discard(partition)
        self.unknowns.answered(partition)

    def awaited(self, partition: str, finding: Finding) -> str:
        """The other partition that has to say whether the finding is still there, since its subject is there now; empty
        where none does.
        """
        kind = self._kinds.get(finding.subject.kind)
        record = self.cluster.get(kind, finding.subject.namespace, finding.subject.name) if kind else None
        if record is None:
            return ""
        others = (each for each in self.check.partitions(record, self.cluster) if each != partition)
        return next((each for each in others if each in self.pending), "")

    @property
    def caught_up(self) -> bool:
        if self.idle:
            return True
        if not self.standing.evaluates:
            return True
        again = self._begun is None or self._missed - self.standing.blind  # everything, at the next step
        return not again and self.pending.empty and not self.runs

    def unknown_of(self, fingerprint: str) -> str:
        """Why an open finding may be old; empty where it is not."""
        return self.unknowns.of(self.findings.partition_of(fingerprint))


# The partition of a check whose scope is the whole cluster is there before any object is.
START = ("",)


def work_on(check: Check, cluster: Cluster, now: Callable[[], float]) -> Work:
    made = Work(check, cluster, check.settings() if check.settings else None)
    if check.scope is PER_CLUSTER:
        made.pending.add(START, now())
    return made
