"""What the engine keeps for one check: its findings, which partitions wait, where it has no answer, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..checks.base import PER_CLUSTER, Check
from ..evaluate import Standing, hidden, standing, undecodables
from ..findings import Unknown
from ..model.cluster import Cluster
from .dirty import Pending, everything
from .finding_store import FindingStore

__all__ = ["Evaluated", "Work"]


@dataclass(slots=True)
class Evaluated:
    """What one check has cost and done so far."""

    partitions: int = 0
    seconds: float = 0.0
    errors: int = 0
    once: bool = False  # nothing was left to evaluate, at least once


@dataclass
class Work:
    check: Check
    cluster: Cluster
    settings: Any
    evaluated: Evaluated = field(default_factory=Evaluated)
    pending: Pending = field(default_factory=Pending)
    # Why a partition has no answer: the check raised, or needs a fact that can't be read. A change makes it dirty.
    broken: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.findings = FindingStore(self.check)
        self._standing: Standing | None = None

    @property
    def standing(self) -> Standing:
        if self._standing is None:
            self._standing = standing(self.check, self.cluster)
        return self._standing

    def look_again(self) -> None:
        """After a change of what can be seen: the standing may be another, and what was deferred gets its turn."""
        self._standing = None
        self.pending.resume()

    def everything(self) -> tuple[str, ...]:
        """All partitions, those that hold findings of what is gone among them."""
        return tuple(dict.fromkeys((*everything(self.check, self.cluster), *self.findings.partitions())))

    def hidden(self, partition: str) -> str:
        """Which object leaves the partition without an answer, in a sentence; empty where none does."""
        found = next(hidden(self.check, self.cluster, partition), None)
        return found.sentence if found else ""

    @property
    def caught_up(self) -> bool:
        return not self.standing.answers or self.pending.empty

    def unknown_of(self, fingerprint: str) -> str:
        """Why an open finding may be old; empty where it is not."""
        if self.standing.unseen:
            return "; ".join(self.standing.unseen)
        partition = self.findings.partition_of(fingerprint)
        return self.broken.get(partition, "") or self.hidden(partition)

    def unknowns(self) -> Iterator[Unknown]:
        """Where there is no answer, and why."""
        if self.standing.not_applicable:
            return
        for each in undecodables(self.check, self.cluster):
            yield Unknown(self.check.id, each.namespace, each.sentence)
        yield from (Unknown(self.check.id, "", why) for why in self.standing.unseen)
        yield from (Unknown(self.check.id, partition, why) for partition, why in self.broken.items())


# The partition of a check whose scope is the whole cluster is there before any object is.
START = ("",)


def work_on(check: Check, cluster: Cluster, now: Callable[[], float]) -> Work:
    made = Work(check, cluster, check.settings() if check.settings else None)
    if check.scope is PER_CLUSTER:
        made.pending.add(START, now())
    return made
