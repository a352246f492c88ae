"""Keeps the findings equal to what the checks find in the cluster, at a cost that grows with what changed.

A change makes partitions dirty; a step evaluates those that are due, for a few milliseconds, and the event loop goes
on. While a check has no answer its partitions stay dirty, its last findings stay open, and `unknowns` says why: for all
of a check while a kind that it reads can't be seen, for one partition while an object in it, or a fact of one that it
needs, can't be read, or where the check raised. While only kinds can't be seen, what follows from the others opens, and
everything is evaluated again once one of them is there. So a finding closes only when somebody looked and found it
gone, or when the cluster no longer serves what its check is about.

A partition is evaluated no sooner than `settle` seconds after it became dirty: kinds arrive on connections of their
own, and a claim may arrive a moment before its VM.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import zip_longest
from typing import Any, Protocol, cast

from ..domain.identity import standing
from ..facts.record import Record
from ..findings.causes import Acknowledgement, Acknowledgements
from ..findings.check import PER_FLEET, Check
from ..findings.finding import Finding, Unknown
from ..findings.severity import Severity
from ..store.cluster import Change
from ..store.index import Index
from ..store.reader import Reader, cluster_of
from ..store.source import Source, SyncState, Undecodable
from .causes import CauseStore
from .pending import Graces
from .restraints import Restraints
from .turn import Outgoing, Turn
from .work import Ended, Evaluated, Work, work_on

__all__ = ["Delays", "Engine", "Evaluated", "Listener"]

log = logging.getLogger(__name__)
_MOST_ALIKE = 1000  # changes
_FOLLOWED = {SyncState.LIVE, SyncState.BEHIND}  # between which an ordinary reconnect goes: no news for anybody

Listener = Callable[[Iterable[Finding], Iterable[Finding]], None]


class Delays(Protocol):
    """Gets times of the engine's `timer`; both calls have to be quick."""

    def arrived(self, now: float) -> None:
        """A change arrived."""

    def reflected(self, until: float, now: float) -> None:
        """What arrived before `until` is in the findings of the checks that have an answer."""


class Engine:
    def __init__(
        self,
        checks: Iterable[Check],
        *,
        clock: Callable[[], float],
        timer: Callable[[], float],
        settle: float = 0.0,
        readers: Iterable[Reader] = (),
        initial: bool = False,
    ) -> None:
        """`clock` gives seconds since 1970, `timer` seconds that only grow; `settle` is in seconds. The cluster keeps
        the indexes of the checks and of the other `readers`.

        For an `initial` engine every evaluation is the first: findings whose beginning is not known do not wait for
        their grace.
        """
        self.checks = tuple(check for check in checks if check.scope is not PER_FLEET)
        self.cluster = cluster_of((*self.checks, *readers))
        self.generation = 0
        self.delays: Delays | None = None
        self.changed = asyncio.Condition()  # notified when the generation grew, and when all is evaluated
        self.clock, self.timer, self.settle, self._initial = clock, timer, settle, initial
        self._work = {check.id: work_on(check, self.cluster, timer) for check in self.checks}
        self._turns = deque(self._work.values())  # whose turn is next comes first
        self._readers: dict[type[Record], list[Work]] = {}
        self._concerning: dict[tuple[type[Record], frozenset[str], frozenset[Index]], tuple[Work, ...]] = {}
        self._interested: dict[str, list[Work]] = {}  # in how a kind is seen, by its name
        for work in self._work.values():
            for kind in work.check.reads:
                self._readers.setdefault(kind.record, []).append(work)
            for name in {kind.name for kind in (*work.check.reads, *work.check.requires)}:
                self._interested.setdefault(name, []).append(work)
        self._graces = Graces()
        self._turn = Turn(timer)
        self._listeners: list[Listener] = []
        self._outgoing = Outgoing()
        self.causes, self._was_ready = CauseStore(self.checks, clock), False
        self.restraints, self.acknowledged = Restraints(partial(standing, self.cluster)), Acknowledgements()
        self._observers: list[Callable[[Change], None]] = []
        self._unknowns: tuple[int, tuple[Unknown, ...]] = (0, ())  # of which version
        self._held = 0
        self._ready = False
        self._notified = (0, False)
        self._dirty = asyncio.Event()
        self._rests = asyncio.Event()
        self._rests.set()
        self._awaited = 0  # by how many

    # -- what comes in

    def put(self, record: Record) -> None:
        self._mark_dirty(self.cluster.put(record))

    def remove(self, kind: type[Record], namespace: str, name: str) -> None:
        self._mark_dirty(self.cluster.remove(kind, namespace, name))

    def _mark_dirty(self, change: Change | None) -> None:
        if change is None:
            return
        now = self.timer()
        for work in self._concerned(change):
            work.changed(change, now)
        if not self._rests.is_set():
            self._interrupt(self._work.values())
        for observer in self._observers:
            observer(change)
        if self.delays and self._ready:
            self.delays.arrived(now)
        if change.kind is Source:
            self._seen_otherwise(change, now)
        elif change.kind is Undecodable:
            self._decodable_otherwise(change, now)
        self._dirty.set()

    def _concerned(self, change: Change) -> Iterable[Work]:
        """Those whose checks a change concerns: of the fields that differ and the indexes with other keys there are few
        combinations.
        """
        readers = self._readers.get(change.kind, ())
        if change.facts is None:
            return readers
        alike = change.kind, change.facts, frozenset(change.moved)
        found = self._concerning.get(alike)
        if found is None:
            if len(self._concerning) >= _MOST_ALIKE:
                self._concerning.clear()
            found = self._concerning[alike] = tuple(each for each in readers if each.check.concerned_by(change))
        return found

    def _interrupt(self, works: Iterable[Work]) -> None:
        for work in works:
            if work.runs:
                work.interrupt()
        self._look_whether_it_rests()

    def _look_whether_it_rests(self) -> None:
        if any(work.runs for work in self._work.values()):
            self._rests.clear()
        else:
            self._rests.set()

    async def at_rest(self) -> None:
        """Until no evaluation is in the midst of a partition: a change would have it begin again. While somebody waits
        here no other partition is begun.
        """
        while not self._rests.is_set():
            self._awaited += 1
            try:
                await self._rests.wait()
            finally:
                self._awaited -= 1

    def _seen_otherwise(self, change: Change, now: float) -> None:
        """Takes in how a kind is seen now."""
        states = {each.sync_state for each in (change.before, change.after) if isinstance(each, Source)}
        if change.before is None or not states <= _FOLLOWED:
            self.generation += 1  # what is unknown may have changed
        source = change.after or change.before
        for work in self._interested.get(source.name, ()) if source else ():
            self._look_again(work, now)

    def _decodable_otherwise(self, change: Change, now: float) -> None:
        """Takes in that an object can no longer be decoded, or that it can again."""
        self.generation += 1
        before, after = cast(Undecodable | None, change.before), cast(Undecodable | None, change.after)
        either = before or after
        for work in self._interested.get(either.kind, ()) if either else ():
            work.decodability_changed(before, after, now)

    def _look_again(self, work: Work, now: float) -> None:
        before = work.standing.not_applicable
        work.look_again()
        after = work.standing.not_applicable
        if before and not after:
            work.add_everything(now)
        elif after and not before:
            self._graces.forget(work.check.id)
            self._outgoing.add(work.drop(), ())
            self._publish()

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
        work = self._work.get(check_id)
        if work is not None and work.settings != settings:
            work.settings = settings
            self._interrupt((work,))
            work.add_everything(self.timer())
            self._dirty.set()

    def acknowledge(self, acknowledged: Acknowledgements) -> None:
        """From now on these are known of: the findings are the same, and are reported otherwise."""
        if acknowledged != self.acknowledged:
            self.acknowledged = acknowledged
            self.generation += 1
            self._dirty.set()

    def known(self, cause: str, severity: Severity) -> Acknowledgement | None:
        """By what a cause of this severity is acknowledged now."""
        return self.acknowledged.of(cause, severity, self.clock())

    def settings(self) -> dict[str, Any]:
        """By which each check is evaluated, by its id."""
        return {check_id: work.settings for check_id, work in self._work.items()}

    def observe(self, observer: Callable[[Change], None]) -> None:
        """`observer` is called with each change of the cluster, and has to be quick."""
        self._observers.append(observer)

    # -- what goes out

    @property
    def evaluated(self) -> dict[str, Evaluated]:
        """What each check has cost so far, by its id."""
        return {check_id: work.evaluated for check_id, work in self._work.items()}

    def findings(self) -> Iterator[Finding]:
        for work in self._work.values():
            yield from work.findings

    def early(self) -> Iterator[Finding]:
        """What is found and not open yet: it is younger than its grace."""
        for work in self._work.values():
            yield from work.findings.early

    def partition_of(self, finding: Finding) -> str:
        """The partition that an open finding was found in."""
        return self._work[finding.check].findings.partition_of(finding.fingerprint)

    def unknown_of(self, finding: Finding) -> str:
        """Why an open finding may be old; empty where it is not."""
        return self._work[finding.check].unknown_of(finding.fingerprint)

    def not_applicable(self) -> dict[str, str]:
        """The checks whose subject the cluster does not serve, by their ids, with a sentence."""
        return {name: why for name, work in self._work.items() if (why := work.standing.not_applicable)}

    def unknowns(self) -> list[Unknown]:
        """Where there is no answer, and why; what was found before stays open there."""
        version = self.unknown_version
        if self._unknowns[0] != version:
            every = (unknown for work in self._work.values() for unknown in work.unknowns.all)
            self._unknowns = version, tuple(sorted(set(every)))
        return list(self._unknowns[1])

    @property
    def unknown_version(self) -> int:
        """Grows when there is no answer somewhere else than before, or for another reason."""
        return sum(work.unknowns.version for work in self._work.values())

    def unknown_everywhere(self) -> set[str]:
        """The checks that have no answer for any partition, by their ids."""
        return {name for name, work in self._work.items() if work.unknowns.everywhere}

    def unknown_places(self) -> dict[str, int]:
        """For how many namespaces and single partitions each check has no answer, by its id."""
        return {name: work.unknowns.places for name, work in self._work.items()}

    def unknown_namespaces(self) -> Iterator[tuple[str, str]]:
        """Namespaces and the ids of the checks that have no answer for all that is in them. The first one of each check
        comes before the second one of any.
        """
        each_of = {name: work.unknowns.namespaces for name, work in self._work.items()}
        for row in zip_longest(*each_of.values()):
            yield from ((namespace, name) for name, namespace in zip(each_of, row, strict=True) if namespace)

    @property
    def caught_up(self) -> bool:
        """Whether every check that has an answer has given it for the cluster as it is."""
        return not self._held and not self._outgoing and all(work.caught_up for work in self._work.values())

    @property
    def ready(self) -> bool:
        """Whether an empty page means that nothing was found; once true it stays so, blindness then shows otherwise.

        Every kind has had an answer, the required ones their list, and every check that can answer has.
        """
        if not self._ready:
            sources = tuple(self.cluster.all(Source))
            listed = all(each.settled if each.optional else each.readable for each in sources)
            answered = all(work.evaluated.once for work in self._work.values() if work.standing.answers)
            self._ready = bool(sources) and listed and answered and not self._outgoing
        return self._ready

    # -- evaluating

    def step(self) -> bool:
        """Evaluates what is due, for a few milliseconds; whether more is due now.

        Where there is no time for all, the next step begins with the first check that got none: none starves another.
        Much that is found at once is published over several steps, before anything else is evaluated.
        """
        if self._outgoing:
            self._publish()
            return True
        if self._held:
            return False
        self._expire()
        self._turn.begin()
        started = self._turn.began
        gone: list[Finding] = []
        come: list[Finding] = []
        begins: int | None = None  # the next step, with which of them; None where nothing is left
        reflected = self.timer()  # up to when
        for turn, work in enumerate(self._turns):
            if work.idle:
                continue
            if not work.evaluates(started):
                work.idle = True
                continue
            if begins is None and not work.worked_off(started - self.settle):
                late = self._turn.over
                if late or self._work_off(work, gone, come):
                    begins = turn if late else turn + 1
            oldest = work.oldest
            reflected = min(reflected, oldest or reflected)
            work.idle = begins is None and oldest is None
        if begins is not None:
            self._turns.rotate(-begins)
        self._look_whether_it_rests()
        self._outgoing.add(gone, come)
        self._publish()
        if self.delays and not self._outgoing:
            self.delays.reflected(reflected, self.timer())
        return begins is not None or bool(self._outgoing)

    def _publish(self) -> None:
        """Says one slice of what is different to those who listen."""
        gone, come = self._outgoing.take()
        if gone or come:
            self.generation += 1
            self.causes.update(gone, come, counts=self._was_ready)
            self.restraints.update(gone, come)
            for listener in self._listeners:
                listener(gone, come)
        if self.ready and not self._was_ready:  # what is found until then was there before
            self._was_ready = True
            if not self._initial:  # of a single look nothing opens and closes
                self.causes.history.begin(self.clock())

    def _work_off(self, work: Work, gone: list[Finding], come: list[Finding]) -> bool:
        """Evaluates what is due of a check, until the turn is over; whether more is due."""
        begun = self.timer()
        before = self._turn.began - self.settle
        for each in work.evaluations(before, self.clock, self._turn, new=not self._awaited):
            if each is not None:
                self._take(work, each, gone, come)
            if self._turn.over:
                break
        work.evaluated.seconds += self.timer() - begun
        return not work.worked_off(before)

    def _take(self, work: Work, ended: Ended, gone: list[Finding], come: list[Finding]) -> None:
        partition, answer, found = ended
        if answer.hidden_by:
            work.unknowns.answered(partition)  # whether that is still so nobody knows
            work.defer(partition, answer.hidden_by)
            return
        work.evaluated.partitions += 1
        if answer.error:
            log.error('event="check crashed" check=%s partition="%s"', work.check.id, partition, exc_info=answer.error)
            work.evaluated.errors += 1
        if answer.partial and (answer.error or answer.unread):
            return  # as it was: the check says already that it does not see all
        if answer.unknown and not answer.partial:
            if work.holds(partition):
                work.unknowns.unanswered(partition, answer.unknown)
            else:
                work.forget(partition)
            return
        if answer.unknown and not work.standing.unseen:  # a kind that it reads is seen in some namespaces alone
            work.unknowns.unanswered(partition, answer.unknown)
        elif not answer.partial:
            work.unknowns.answered(partition)
        if not found and not work.findings.holds(partition):
            return  # as most are
        # What was there when we started may be old: after a restart its alert must not begin anew.
        initial = self._initial or work.initial(answer)
        awaited = partial(work.awaited, partition)
        entry = work.findings.take(
            partition, found, self.clock(), initial=initial, awaited=awaited, partial=answer.partial
        )
        gone += entry.gone
        come += entry.come
        self._graces.put(work.check.id, partition, entry.due)

    def _expire(self) -> None:
        """What has come out of its grace is evaluated once more."""
        for check_id, partition in self._graces.ended(self.clock()):
            self._work[check_id].grace_ended(partition, self.timer() - self.settle)

    async def run(self) -> None:
        """Evaluates for ever."""
        while True:
            await self._something_due()
            self._dirty.clear()
            while self.step():
                await self._notify()
                await asyncio.sleep(0)
            await self._notify()
            if not self.caught_up and not self._held:
                self._dirty.set()
                await asyncio.sleep(max(self.settle / 4, 0.001))

    async def _something_due(self) -> None:
        """Until something is dirty or a grace ends; looks up once a minute, since the wall clock may jump."""
        end = self._graces.next
        left = end - self.clock() if end is not None else 60.0
        with suppress(TimeoutError):
            async with asyncio.timeout(min(max(left, 0.0), 60.0)):
                await self._dirty.wait()

    async def _notify(self) -> None:
        now = (self.generation, self.caught_up)
        if now != self._notified:
            self._notified = now
            async with self.changed:
                self.changed.notify_all()
