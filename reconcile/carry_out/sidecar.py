"""Runs the loop: when to look, what holds of us and of the platform, and what the last process left behind."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from exporter.config.reloading import ReloadStatus
from exporter.kube.errors import KubeError

from ..config.settings import SidecarConfig, shadows
from ..decide.canary import shown
from ..decide.gates import Situation
from ..decide.storms import Open, Sizes, Storm, Storms
from ..ledger import Counted, Event, Ledger, LedgerError
from ..ledger.history import History
from ..ledger.manual import ManualLedger
from ..plan.annotations import PREFIX, resumed_at
from .alertmanager import Silences
from .attempt import AttemptState
from .finding_source import FindingSource, Observed, SourceError
from .lease import Election, NotLeadingError
from .lease_record import NoElection
from .loop import Loop
from .metrics import ShownRepairs
from .pauses import Pauses
from .permission import Candidate, RunContext
from .situation import labels_of_namespaces, of_namespace, upgrading
from .verifying import Verifying

# Keeps how many findings there are and of how many there is a plan: what a report says beside what was shadowed.
#
# At most once an hour, and only if it is something else than the last time: a ledger of weeks stays short.

_EVERY = 3600.0  # seconds


class Counting:
    def __init__(self, context: RunContext, ledger: Ledger) -> None:
        self._context, self._ledger = context, ledger
        self._last: dict[str, Counted] = {}
        self._at: float | None = None

    def count(self, candidates: Iterable[Candidate]) -> None:
        """After a run, of all that has a remediation which is not off. Raises LedgerError."""
        now = self._context.clock()
        if self._at is not None and 0 <= now - self._at < _EVERY:
            return
        counts = self._counts(candidates)
        if counts != self._last:
            self._context.kept(self._ledger.append(Event.COUNTED, counts=counts))
            self._last, self._at = counts, now

    def _counts(self, candidates: Iterable[Candidate]) -> dict[str, Counted]:
        found, planned = Counter[str](), Counter[str]()
        for each in candidates:
            shown = self._context.repairs.get(*each.key)
            found[each.remediation.id] += 1
            planned[each.remediation.id] += shown is not None and bool(shown.hash)
        return {each: Counted(found[each], planned[each]) for each in sorted(found)}


# Looks whether there is a storm: once in a run, by what is found, with the VMs counted where that matters.

_MOST = 50  # namespaces that are asked about in one run; the VMs of others count as not known
_AHEAD = 60.0  # seconds by which the clock of who resumes may be ahead


class StormLooks:
    def __init__(self, context: RunContext, event: str = "storm") -> None:
        """`event` is how changes are logged."""
        self._context, self._event = context, event
        self._storms: Storms | None = None

    def forget(self) -> None:
        """Another replica leads: what it leaves in the Lease counts, if this one leads again."""
        self._storms = None

    async def look(
        self, observed: Observed, writable: Collection[str], lease: Mapping[str, str], now: float, fleet: int | None
    ) -> Storms:
        """`writable` are the fingerprints of what could be written now, `lease` the Lease's annotations under our
        prefix, `fleet` is the number of VMs.
        """
        context, settings = self._context, self._context.config.storm
        if self._storms is None:
            self._storms = Storms(lease)
        storms = self._storms
        before = {"": storms.fleet, **storms.namespaces}
        if not observed.ready or observed.age > context.config.source.oldest.total_seconds():
            storms.unseen(now, settings)
        else:
            answered = {check for each in context.remediations for check in each.answers} & context.checks.keys()
            storms.take(self._open(observed), answered - observed.unknown, now, settings)
            rising = storms.rising(writable, settings)[:_MOST]
            vms = {namespace: await context.vms.within(namespace) for namespace in rising}
            storms.next(writable, now, settings, Sizes(fleet, vms, await self._resumed(storms, lease, now)))
        _report(self._event, before, {"": storms.fleet, **storms.namespaces})
        return storms

    def _open(self, observed: Observed) -> list[Open]:
        """Of all findings that there is a remediation for, whatever its mode: that may be another one tomorrow."""
        answers = {
            (check, reason)
            for each in self._context.remediations
            for check in each.answers
            for reason in each.answers[check]
        }
        hints = (each.hint for each in observed.findings)
        return [
            Open(each.fingerprint, each.subject.namespace, each.check)
            for each in hints
            if (each.check, each.reason) in answers
        ]

    async def _resumed(self, storms: Storms, lease: Mapping[str, str], now: float) -> dict[str, float]:
        """When a person resumed everything, or a namespace with a storm."""
        found = {"": resumed_at({f"{PREFIX}{name}": text for name, text in lease.items()})}
        for namespace in [each for each in storms.namespaces if each][:_MOST]:
            found[namespace] = resumed_at(await of_namespace(self._context.reads, namespace) or {})
        return {name: moment for name, moment in found.items() if moment is not None and moment <= now + _AHEAD}


def _report(event: str, before: Mapping[str, Storm], after: Mapping[str, Storm]) -> None:
    for namespace in sorted({*before, *after}):
        was, now = before.get(namespace, Storm()), after.get(namespace, Storm())
        if was.state is not now.state:
            scope = f"namespace {namespace}" if namespace else "all"
            log.warning('event="%s" state=%s scope="%s" why="%s"', event, now.state.value, scope, now.why)


log = logging.getLogger(__name__)
_DAY = 86_400.0


class Sidecar:
    def __init__(
        self,
        context: RunContext,
        source: FindingSource,
        ledger: Ledger,
        election: Election | NoElection,
        verifying: Verifying,
        history: History,
        pauses: Pauses,
        silences: Silences,
        by_hand: ManualLedger | None = None,
        *,
        shadow: History,
    ) -> None:
        """`shadow` is the history in which what was shadowed counts as written."""
        self._context, self._source, self._ledger, self._election = context, source, ledger, election
        self._verifying, self._history, self._silences = verifying, history, silences
        self._pauses = pauses
        self._loop = Loop(context)
        self._looks, self._shadow_looks = StormLooks(context), StormLooks(context, "storm in mode shadow")
        self._shadow, self._counting = shadow, Counting(context, ledger)
        self._by_hand = by_hand or ManualLedger(ledger.directory)
        self._unsettled: set[str] = set()  # attempts of which that was logged
        self._problem = ""  # why there are no findings, as last logged

    @property
    def repairs(self) -> ShownRepairs:
        return self._context.repairs

    @property
    def reload(self) -> ReloadStatus:
        """What metrics show of the configuration."""
        return self._context.measures.standing.config

    def take(self, config: SidecarConfig) -> None:
        """Another configuration, from the next step on of whatever is under way."""
        self._context.config = config
        self._context.measures.configured(config)

    async def run(self) -> None:
        """Until it is cancelled."""
        standing = self._context.measures.standing
        while True:
            standing.leading, standing.leader = self._election.leading, self._election.leader
            standing.ledger_writable = self._ledger.writable
            standing.unfinished = len(self._ledger.unfinished())
            standing.skew = self._context.skew()
            since = self._context.clock() - _DAY
            standing.in_use, standing.unseen = self._history.in_use(since), self._history.unseen(since)
            standing.undone = self._by_hand.undone()
            if self._election.leading:
                await self.once()
            else:
                self._looks.forget()
                self._shadow_looks.forget()
                standing.follow()
                await self._context.repairs.keep(())
            await self._wait()

    async def once(self) -> int:
        """One run; how many writes it made."""
        context = self._context
        standing = context.measures.standing
        try:
            observed = await self._source.observed()
            standing.source_up, self._problem = True, ""
            if not self._ledger.refused:
                await self._look_after(observed)
            labels = await labels_of_namespaces(context.reads) if self._by_labels() else {}
            candidates = self._loop.candidates(observed, labels)
            situation = replace(await self._situation(observed, candidates), labels=labels)
            shadow = await self._in_shadow(situation, observed, candidates)
            written = await self._loop.run(candidates, situation, shadow)
            if shadow is not None and observed.ready and not self._ledger.refused:
                self._counting.count(candidates)
        except SourceError as error:
            standing.source_up = False
            if str(error) != self._problem:
                log.warning('event="findings request failed" why="%s"', error)
            self._problem = str(error)
            return 0
        except NotLeadingError as error:
            log.warning('event="leadership lost" why="%s"', error)
            return 0
        except KubeError as error:
            log.warning('event="run aborted" why="%s"', error)
            return 0
        except LedgerError as error:
            standing.ledger_writable = False
            log.error('event="ledger write failed" why="%s"', error)
            return 0
        standing.last_run = context.clock()
        return written

    def _by_labels(self) -> bool:
        """Whether a mode depends on the labels of namespaces."""
        return any(self._context.config.of(each.id).namespace_selectors for each in self._context.remediations)

    async def _look_after(self, observed: Observed) -> None:
        """What was done before, in this cluster."""
        context = self._context
        await self._settle()
        verify_after = context.config.verify_after.total_seconds()
        stays = lambda each: context.config.canary_of(each).stays.total_seconds()  # noqa: E731
        await self._verifying.look(context.clock(), verify_after, set(observed.by_fingerprint), stays)
        if observed.ready:
            await self._verifying.look_at_shadowed(set(observed.by_fingerprint))
        await self._pauses.look(context.clock(), context.config.edit_war, self._election.state)

    async def _settle(self) -> None:
        """What became of attempts without an end, of this process or of one before it."""
        for intended in self._ledger.unfinished():
            try:
                result = await self._context.attempts.settle(intended)
            except KubeError as error:
                log.warning('event="attempt not settled" attempt=%s why="%s"', intended.attempt, error)
                continue
            if result.state != AttemptState.UNCLEAR:
                self._unsettled.discard(intended.attempt)
                log.info(
                    'event="attempt settled" attempt=%s outcome=%s why="%s"', intended.attempt, result.state, result.why
                )
            elif intended.attempt not in self._unsettled:
                self._unsettled.add(intended.attempt)
                log.warning('event="attempt not settled" attempt=%s why="%s"', intended.attempt, result.why)
        self._context.measures.standing.unfinished = len(self._ledger.unfinished())

    async def _situation(self, observed: Observed, candidates: list[Candidate]) -> Situation:
        context = self._context
        now = context.clock()
        self._history.forget(now)
        fleet = await context.vms.total()
        storms = await self._storms(observed, candidates, now, fleet)
        paused = context.paused()
        standing = context.measures.standing
        standing.storm = storms.fleet.state.value
        standing.storms = Counter(each.state.value for each in storms.namespaces.values())
        standing.paused = int(bool(paused)) + self._history.pauses
        settings = context.config.edit_war
        standing.canaries = shown(context.config, context.remediations, self._history)
        standing.edit_wars = len(self._history.wars(settings.returns, settings.within.total_seconds()))
        return Situation(
            now=now,
            leading=self._election.leading,
            paused=paused,
            namespaces={},
            history=self._history,
            storm=storms.fleet,
            storms=storms.namespaces,
            fleet=fleet,
            source_age=observed.age,
            ready=observed.ready,
            unknown_checks=observed.unknown,
            upgrading=await upgrading(context.reads),
            silenced=await self._silences.silenced(),
            ledger=self._ledger.probe(),
            skew=context.skew(),
            by_hand=self._by_hand.unfinished,
        )

    async def _in_shadow(
        self, situation: Situation, observed: Observed, candidates: list[Candidate]
    ) -> Situation | None:
        """What would hold if all that was shadowed were written; None where nothing is in mode `shadow`."""
        context = self._context
        if not shadows(context.config, context.remediations):
            self._shadow_looks.forget()
            return None
        self._shadow.forget(situation.now)
        writable = {each.found.hint.fingerprint for each in candidates if self._loop.writable(each, shadow=True)}
        state, now = self._election.state, situation.now
        storms = await self._shadow_looks.look(observed, writable, state, now, situation.fleet)
        return replace(situation, history=self._shadow, storm=storms.fleet, storms=storms.namespaces)

    async def _storms(self, observed: Observed, candidates: list[Candidate], now: float, fleet: int | None) -> Storms:
        """By the findings that would be repaired unasked; they travel with the Lease."""
        writable = {each.found.hint.fingerprint for each in candidates if self._loop.writable(each)}
        state = self._election.state
        storms = await self._looks.look(observed, writable, state, now, fleet)
        changed = {name: text for name, text in storms.carried().items() if text != state.get(name)}
        if changed:
            await self._election.publish(changed)
        return storms

    async def _wait(self) -> None:
        """Until the findings change, the Lease changes hands, or the interval is over."""
        seconds = self._context.config.interval.total_seconds()
        if self._election.leading:
            await self._source.changed(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._election.changed:
                await self._election.changed.wait_for(lambda: self._election.leading)
