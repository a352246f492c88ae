"""Keeps the findings equal to what the checks say of the cluster, at a cost that grows with what changed.

A change marks partitions dirty; a step evaluates those that are due, for a few milliseconds, and the loop goes on. A
check
gives no new answer while a kind that it reads can't be seen: its partitions stay dirty, its last findings stay open,
and `unknown` says why. The same holds for one namespace while an object in it can't be read, and for one partition
where the check raised. So a finding goes only when somebody looked and found it gone.

A partition is evaluated no sooner than `settle` seconds after it became dirty: kinds arrive on connections of their
own, and a claim may be reported a moment before its VM.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush

from ..checks.base import PER_CLUSTER, PER_FLEET, Check, View
from ..findings import Finding, Unknown
from ..model.cluster import Change, Cluster
from ..model.index import Index
from ..model.kind import Kind
from ..model.record import Record
from ..model.source import Source, Undecodable
from .dirty import Pending, concerned, everything
from .finding_store import FindingStore

__all__ = ["Engine", "Evaluated", "Listener"]

log = logging.getLogger(__name__)
_SLICE = 0.004  # seconds of evaluating between two looks at the event loop

Listener = Callable[[Iterable[Finding], Iterable[Finding]], None]


@dataclass(slots=True)
class Evaluated:
    """What one check has cost and done so far."""

    partitions: int = 0
    seconds: float = 0.0
    errors: int = 0
    once: bool = False  # nothing was left to evaluate, at least once


class Engine:
    def __init__(
        self,
        checks: Iterable[Check],
        *,
        clock: Callable[[], float],
        timer: Callable[[], float],
        settle: float = 0.0,
        indexes: Iterable[Index] = (),
        patient: bool = True,
    ) -> None:
        """`clock` gives seconds since 1970, `timer` seconds that only grow; `settle` is in seconds. The cluster keeps
        `indexes` beside those of the checks.

        An engine that is not `patient` looks once: findings whose beginning nobody knows do not wait for their grace.
        """
        self.checks = tuple(check for check in checks if check.scope is not PER_FLEET)
        self.cluster = Cluster([*(index for check in self.checks for index in check.indexes), *indexes])
        self.generation = 0
        self.evaluated = {check.id: Evaluated() for check in self.checks}
        self.changed = asyncio.Condition()  # reported when the generation grew, and when all is evaluated
        self._clock, self._timer, self.settle, self._patient = clock, timer, settle, patient
        self._readers: dict[type[Record], list[Check]] = {}
        for check in self.checks:
            for kind in check.reads:
                self._readers.setdefault(kind.record, []).append(check)
        self._views = {check.id: View(self.cluster, check, "") for check in self.checks}
        self._pending = {check.id: Pending(partial(check.namespaces, cluster=self.cluster)) for check in self.checks}
        for check in self.checks:
            if check.scope is PER_CLUSTER:
                self._pending[check.id].add(("",), timer())
        self._stores = {check.id: FindingStore(check) for check in self.checks}
        self._waiting: list[tuple[float, str, str]] = []  # a heap: when a grace ends, of which check and partition
        self._dues: dict[tuple[str, str], float] = {}  # the last time put into it, so that events do not fill it
        self._broken: dict[tuple[str, str], str] = {}
        self._listeners: list[Listener] = []
        self._observers: list[Callable[[Change], None]] = []
        self._held = 0
        self._ready = False
        self._reported = (0, False)
        self._dirty = asyncio.Event()

    # -- what comes in

    def put(self, record: Record) -> None:
        self._mark_dirty(self.cluster.put(record))

    def remove(self, kind: type[Record], namespace: str, name: str) -> None:
        self._mark_dirty(self.cluster.remove(kind, namespace, name))

    def _mark_dirty(self, change: Change | None) -> None:
        if change is None:
            return
        kind, now = change.kind, self._timer()
        for check in self._readers.get(kind, ()):
            self._pending[check.id].add(concerned(check, self.cluster, change), now)
        for observer in self._observers:
            observer(change)
        if kind in _OWN:
            self.generation += 1  # what is unknown may have changed
            for pending in self._pending.values():
                pending.unblock()
        self._dirty.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """While the store of a kind is being swapped nothing is evaluated: half of it is old."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self._dirty.set()

    def listen(self, listener: Listener) -> None:
        """`listener(gone, come)` is called with each batch of differences; a changed finding is in both."""
        self._listeners.append(listener)

    def configure(self, check_id: str, settings: object) -> None:
        """Gives a check other settings: everything is evaluated again by them."""
        for check in self.checks:
            if check.id == check_id and self._views[check_id].settings != settings:
                self._views[check_id].settings = settings
                self._pending[check_id].add(tuple(everything(check, self.cluster)), self._timer())
                self._dirty.set()

    def observe(self, observer: Callable[[Change], None]) -> None:
        """`observer` is called with each change of the cluster, and has to be quick."""
        self._observers.append(observer)

    # -- what goes out

    def findings(self) -> Iterator[Finding]:
        for store in self._stores.values():
            yield from store

    def partition_of(self, finding: Finding) -> str:
        """The partition that an open finding was found in."""
        return self._stores[finding.check].partition_of(finding.fingerprint)

    def unknowns(self) -> list[Unknown]:
        """Where there is no answer, and why; what was found before stays open there."""
        found = [
            Unknown(check.id, "", f"{kind.name}: {why}")
            for check in self.checks
            for kind in check.reads
            if (why := self._blind(kind))
        ]
        found += [
            Unknown(check.id, undecodable.namespace, f"{undecodable.ref} could not be read: {undecodable.why}")
            for undecodable in self.cluster.all(Undecodable)
            for check in self.checks
            if any(kind.name == undecodable.kind for kind in check.reads)
        ]
        found += [Unknown(check_id, partition, why) for (check_id, partition), why in self._broken.items()]
        return sorted(set(found))

    def _blind(self, kind: Kind[Record]) -> str:
        source = self.cluster.get(Source, "", kind.name)
        if source is not None:
            return "" if source.readable else source.why
        return "" if kind.record in (Source, Undecodable) else "nobody looks for it"

    # -- evaluating

    def step(self) -> bool:
        """Evaluates what is due, for a few milliseconds; whether more is due now."""
        if self._held:
            return False
        self._expire()
        started = self._timer()
        gone: list[Finding] = []
        come: list[Finding] = []
        left = False
        for check in self.checks:
            if not self._answers(check):
                continue
            left = self._work_off(check, started, gone, come) or left
        if gone or come:
            self.generation += 1
            for listener in self._listeners:
                listener(gone, come)
        return left

    def _work_off(self, check: Check, started: float, gone: list[Finding], come: list[Finding]) -> bool:
        pending, evaluated, blocked = self._pending[check.id], self.evaluated[check.id], self._blocked(check)
        begun = now = self._timer()
        while now - started < _SLICE:
            partition = pending.take(started - self.settle, blocked)
            if partition is None:
                evaluated.once = evaluated.once or pending.empty
                evaluated.seconds += now - begun
                return False
            self._evaluate(check, partition, gone, come)
            evaluated.partitions += 1
            now = self._timer()
        evaluated.seconds += now - begun
        return True

    def _evaluate(self, check: Check, partition: str, gone: list[Finding], come: list[Finding]) -> None:
        try:
            found = tuple(check.find(self._views[check.id].at(partition)))
        except Exception as error:  # whatever a check raises, its partition has no answer
            log.exception("check raised: check=%s partition=%s", check.id, partition)
            self.evaluated[check.id].errors += 1
            self._broken[check.id, partition] = f"the check raised {type(error).__name__}: {error}; please report it"
            return
        self._broken.pop((check.id, partition), None)
        # What was there when we started may be old: after a restart its alert must not begin anew.
        patient = self._patient and self.evaluated[check.id].once
        entry = self._stores[check.id].evaluated(partition, found, self._clock(), patient=patient)
        gone += entry.gone
        come += entry.come
        if entry.due is not None and self._dues.get((check.id, partition)) != entry.due:
            self._dues[check.id, partition] = entry.due
            heappush(self._waiting, (entry.due, check.id, partition))

    def _expire(self) -> None:
        """What has come out of its grace is evaluated once more."""
        now = self._clock()
        while self._waiting and self._waiting[0][0] <= now:
            _, check_id, partition = heappop(self._waiting)
            self._dues.pop((check_id, partition), None)
            self._pending[check_id].add((partition,), self._timer() - self.settle)

    def _answers(self, check: Check) -> bool:
        """Whether what the check reads is all there and current."""
        sources = (self.cluster.get(Source, "", kind.name) for kind in check.reads if kind.record not in _OWN)
        blocked = self._blocked(check)
        return (
            "" not in blocked
            and not (blocked and check.scope is PER_CLUSTER)
            and all(source is not None and source.current for source in sources)
        )

    def _blocked(self, check: Check) -> frozenset[str]:
        """The namespaces in which an object that the check should read can't be read; empty text for everywhere."""
        kinds = {kind.name for kind in check.reads}
        return frozenset(
            undecodable.namespace for undecodable in self.cluster.all(Undecodable) if undecodable.kind in kinds
        )

    @property
    def caught_up(self) -> bool:
        """Whether every check that has an answer has given it for the cluster as it is."""
        return not self._held and all(self._pending[check.id].empty for check in self.checks if self._answers(check))

    @property
    def ready(self) -> bool:
        """Whether an empty page means that nothing was found; once true it stays so, blindness then shows otherwise.

        Every kind has had an answer, the required ones their list, and every check that can answer has.
        """
        if not self._ready:
            sources = tuple(self.cluster.all(Source))
            listed = all(each.settled if each.optional else each.readable for each in sources)
            evaluated = all(self.evaluated[check.id].once for check in self.checks if self._answers(check))
            self._ready = bool(sources) and listed and evaluated
        return self._ready

    async def run(self) -> None:
        """Evaluates for ever."""
        while True:
            await self._something_due()
            self._dirty.clear()
            while self.step():
                await self._report()
                await asyncio.sleep(0)
            await self._report()
            if not self.caught_up and not self._held:
                self._dirty.set()
                await asyncio.sleep(max(self.settle / 4, 0.001))

    async def _something_due(self) -> None:
        """Until something is dirty or a grace ends; looks up once a minute, since the wall clock may jump."""
        left = self._waiting[0][0] - self._clock() if self._waiting else 60.0
        with suppress(TimeoutError):
            async with asyncio.timeout(min(max(left, 0.0), 60.0)):
                await self._dirty.wait()

    async def _report(self) -> None:
        now = (self.generation, self.caught_up)
        if now != self._reported:
            self._reported = now
            async with self.changed:
                self.changed.notify_all()


_OWN = (Source, Undecodable)
