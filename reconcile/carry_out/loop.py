"""The sidecar's work: from findings to repairs, one after another, in runs.

    observed ─> settle what has no end ─> verify what was done ─> for each finding: gates ─> plan ─> attempt

Only the leader does anything. What a run may do is decided by gates on what is known at its begin, and again right
before each write on what is read then. What is planned only goes to `planning`, what may be written, or
shadowed, gets its turn: what is in the way of it, its attempt, and what is shown of that.

    awaited? ─> gates ─> waits for an approval? ─> rests? ─> attempt ─> shown
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

from exporter.kube.errors import KubeError

from ..config.settings import Mode, mode_of
from ..decide.gates import Blocked, Situation
from ..decide.repair import Repair
from ..ledger import LedgerError
from ..plan.annotations import APPROVED_PLAN
from ..plan.plan import Plan, Refused
from .attempt import AttemptState, Result
from .confirm import Confirmed, confirm
from .finding_source import Observed
from .lease import NotLeadingError
from .permission import Candidate, Permission, RunContext, approval
from .situation import annotated

# Plans of candidates, and which of them are shown while nothing is written.

_READS = 50  # plans that are made for display in one run


class Planning:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._plans: dict[tuple[str, str], Plan] = {}  # the last ones of those that may be carried out
        self._reads_left = 0

    def begin(self, candidates: list[Candidate]) -> None:
        """A run begins: forgets the plans of all others."""
        self._plans = {each.key: plan for each in candidates if (plan := self._plans.get(each.key)) is not None}
        self._reads_left = _READS

    def repair(self, candidate: Candidate) -> Repair:
        return Repair.of(candidate.found, candidate.remediation.id, candidate.mode, self._context.clock())

    async def make(self, candidate: Candidate, *, keep: bool = False) -> Confirmed | Refused:
        """A plan on fresh reads; `keep` is for one that is made to be carried out. Raises KubeError."""
        context, hint = self._context, candidate.found.hint
        check = context.checks[hint.check]
        made = await confirm(
            hint,
            check,
            candidate.remediation,
            context.reads,
            now=context.clock(),
            settings=context.settings.get(check.id),
            assumed=context.assumed,
        )
        if keep and isinstance(made, Confirmed):
            self._plans[candidate.key] = made.plan
        return made

    async def show(self, candidate: Candidate) -> Repair:
        """Plans, now and then, and does nothing. Raises KubeError."""
        shown = self._context.repairs.get(*candidate.key)
        if (shown is not None and not shown.outdated(self._context.clock())) or not self._reads_left:
            return shown or self.repair(candidate)
        self._reads_left -= 1
        made = await self.make(candidate)
        repair = self.repair(candidate)
        repair = repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made.plan)
        await self._context.repairs.put(repair)
        return repair

    def waiting(self, candidate: Candidate) -> Plan | None:
        """The plan that is shown as waiting for its approval; None where there is none, or it is to be made anew."""
        plan, shown = self._plans.get(candidate.key), self._context.repairs.get(*candidate.key)
        return plan if shown is not None and shown.waits(self._context.clock()) else None


log = logging.getLogger(__name__)
_LONGEST_REST = 600.0  # seconds
_STATES = {
    AttemptState.DONE: "verifying",
    AttemptState.UNCLEAR: "unclear",
    AttemptState.FAILED: "failed",
    AttemptState.SHADOWED: "shadowed",
}


class Turns:
    def __init__(self, context: RunContext, planning: Planning) -> None:
        self._context, self._planning = context, planning
        self._refused: dict[tuple[str, str], tuple[int, float]] = {}  # how often in a row, and until when it rests
        self._held: dict[str, tuple[Blocked, ...]] = {}  # findings of this run of which a repair waits for its canary

    def begin(self, candidates: list[Candidate]) -> None:
        """A run begins: forgets all others."""
        self._refused = {each.key: rest for each in candidates if (rest := self._refused.get(each.key)) is not None}
        self._held = {}

    async def run(self, candidate: Candidate, permission: Permission, written: int) -> int:
        """Carries out what nothing blocks, or shadows it; how many writes it made, or shadowed. Raises NotLeadingError,
        LedgerError, KubeError.
        """
        context, repair = self._context, self._planning.repair(candidate)
        if context.following.awaited(repair.fingerprint):
            unclear = any(each.fingerprint == repair.fingerprint for each in permission.unfinished())
            await context.repairs.put(repair.in_state("unclear" if unclear else "verifying"))
            return 0
        if candidate.mode is Mode.SHADOW and context.following.shadowed(repair.fingerprint):
            shown = await self._planning.show(candidate)
            await context.repairs.put(shown.in_state("shadowed", blocked=()))
            return 0
        if gates := await permission.blocked(candidate, written) or self._held_back(candidate):
            shown = await self._planning.show(candidate)
            await context.repairs.put(shown.in_state("blocked", blocked=gates))
            if [each.gate for each in gates] == ["canary"] and shown.possible:
                self._held.setdefault(repair.fingerprint, gates)
            return 0
        if await self._still_waits(candidate) or context.clock() < self._refused.get(candidate.key, (0, 0.0))[1]:
            return 0
        started = context.timer()
        made, result = await self._attempted(candidate, permission, written)
        self._rest(candidate, result)
        await self._ended(repair if made is None else repair.planned(made.plan), result, context.timer() - started)
        return int(result.state in _STATES)

    def _held_back(self, candidate: Candidate) -> tuple[Blocked, ...]:
        """By the canary of another remediation: without one that would write for this finding first. What waits for its
        canary must not be written by another means, which may cost more.
        """
        return self._held.get(candidate.found.hint.fingerprint, ()) if candidate.mode is Mode.AUTO else ()

    async def raised(self, candidate: Candidate, error: Exception) -> None:
        """Reports what nobody thought of, and lets the finding rest."""
        log.exception('event="repair crashed" remediation=%s finding=%s', *reversed(candidate.key))
        why = f"{candidate.remediation} raised {type(error).__name__}: {error}; please report it"
        refused = Refused("everything_seen", why)
        self._rest(candidate, Result(AttemptState.REFUSED, refused=refused.precondition))
        await self._context.repairs.put(self._planning.repair(candidate).unplanned(refused))

    async def _attempted(
        self, candidate: Candidate, permission: Permission, written: int
    ) -> tuple[Confirmed | None, Result]:
        """The first plan, if there was one, and how the attempt ended."""
        made: list[Confirmed] = []

        async def make() -> Confirmed | Refused:
            answer = await self._planning.make(candidate, keep=True)
            if isinstance(answer, Confirmed):
                made.append(answer)
            return answer

        async def permit(confirmed: Confirmed) -> Refused | None:
            return await permission.refused(candidate, confirmed, written)

        def asked() -> str:
            return approval(made[-1]) if candidate.mode is Mode.APPROVE else ""

        def canary() -> str:
            return permission.on_trial(candidate)

        try:
            if candidate.mode is Mode.SHADOW:
                result = await self._context.shadowing.run(make, permit)
            else:
                result = await self._context.attempts.run(
                    make,
                    permit,
                    mode=candidate.mode.value,
                    by=asked,
                    canary=canary,
                    still=lambda: permission.still(candidate),
                    authorized=lambda: candidate.mode is Mode.APPROVE and self._context.measures.standing.authorizing,
                )
        except (NotLeadingError, LedgerError):
            raise
        except KubeError as error:
            result = Result(AttemptState.REFUSED, refused="everything_seen", why=str(error))
        return made[0] if made else None, result

    def _rest(self, candidate: Candidate, result: Result) -> None:
        """What is refused is tried again, after longer and longer: the API server need not refuse it each time."""
        times, _ = self._refused.pop(candidate.key, (0, 0.0))
        if result.state == AttemptState.REFUSED and result.refused != "approved":
            pause = min(self._context.config.interval.total_seconds() * 2**times, _LONGEST_REST)
            self._refused[candidate.key] = (min(times + 1, 20), self._context.clock() + pause)

    async def _still_waits(self, candidate: Candidate) -> bool:
        """Whether nobody has approved of the plan that is shown: one read, where a plan takes many."""
        if (plan := self._planning.waiting(candidate)) is None:
            return False
        ref, context = plan.bound_to, self._context
        annotations = await annotated(context.reads, context.kinds[ref.kind], ref.namespace, ref.name)
        return annotations is not None and plan.hash not in str(annotations.get(APPROVED_PLAN, ""))

    async def _ended(self, repair: Repair, result: Result, seconds: float) -> None:
        context, refused, state = self._context, None, _STATES.get(result.state, "refused")
        if result.state == AttemptState.REFUSED:
            refused = Refused(result.refused, result.why, result.unseen, result.remedy)
            state = "waiting" if result.refused == "approved" else "refused"
        elif result.state == AttemptState.SHADOWED:
            context.measures.shadowed(repair.remediation)
        else:
            context.measures.ended(repair.remediation, repair.mode, result.state, seconds)
        log.info(
            'event="repair ended" remediation=%s finding=%s target="%s" outcome=%s by=%s why="%s" attempt=%s took=%.3f',
            repair.remediation,
            repair.fingerprint,
            repair.target,
            result.state,
            result.refused,
            result.why,
            result.attempt,
            seconds,
        )
        await context.repairs.put(repair.in_state(state, refused=refused))


# In which order repairs get their turn: namespace by namespace, so that who has most of them does not get all writes.
#
# A namespace's turn is how many writes it had within the last day, and how many of its repairs come before. Of one turn
# the worst finding comes first, then the oldest. So a namespace that always has something to repair waits for one that
# has something for the first time, however bad its findings are. Pure.

_RANK = {"critical": 0, "warning": 1, "info": 2}


def in_turn(
    candidates: Iterable[Candidate], writable: Callable[[Candidate], bool], written: Mapping[str, int]
) -> list[Candidate]:
    """What can't be written takes nobody's turn; `written` has the writes of the last day by namespace."""
    turns: Counter[str] = Counter(written)
    found = []
    for candidate in sorted(candidates, key=_urgency):
        namespace = candidate.found.namespace
        found.append((turns[namespace], candidate))
        turns[namespace] += writable(candidate)
    found.sort(key=lambda each: each[0])
    return [candidate for _, candidate in found]


def _urgency(candidate: Candidate) -> tuple[Any, ...]:
    found = candidate.found
    since = found.since if found.since is not None else float("inf")
    return _RANK.get(found.severity, 3), since, found.hint.subject, candidate.remediation.id


Labels: TypeAlias = Mapping[str, Mapping[str, str] | None]

_DAY = 86_400.0


class Loop:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._planning = Planning(context)
        self._turns = Turns(context, self._planning)
        self._first_seen: dict[str, float] = {}

    def candidates(self, observed: Observed, labels: Labels) -> list[Candidate]:
        """Whatever has a remediation that is not off; `labels` are those of namespaces, where they matter."""
        config = self._context.config
        return [
            Candidate(each, remediation, mode)
            for each in observed.findings
            for remediation in self._context.remediations
            if each.hint.reason in remediation.answers.get(each.hint.check, ())
            and (mode := mode_of(config, remediation.id, each.namespace, labels.get(each.namespace))) is not Mode.OFF
        ]

    def writable(self, candidate: Candidate, *, shadow: bool = False) -> bool:
        """Whether it would be written unasked, as far as is known: what was not planned yet may be. With `shadow`, or
        shadowed.
        """
        shadowed = shadow and candidate.mode is Mode.SHADOW
        if not (shadowed or candidate.mode is Mode.AUTO) or candidate.remediation.proposes_only:
            return False
        following, fingerprint = self._context.following, candidate.found.hint.fingerprint
        if following.awaited(fingerprint) or (shadowed and following.shadowed(fingerprint)):
            return False
        shown = self._context.repairs.get(*candidate.key)
        return shown is None or shown.possible

    async def run(self, candidates: list[Candidate], situation: Situation, shadow: Situation | None = None) -> int:
        """One run; how many writes it made. `shadow` is what holds for mode `shadow`, where anything is in it. Raises
        NotLeadingError, LedgerError, KubeError.

        What may be written comes first: nothing that is shadowed holds it up.
        """
        now = self._context.clock()
        await self._context.repairs.keep(each.key for each in candidates)
        seen = {each.found.hint.fingerprint for each in candidates}
        self._first_seen = {each: self._first_seen.get(each, now) for each in seen}
        self._planning.begin(candidates)
        self._turns.begin(candidates)
        real = [each for each in candidates if each.mode is not Mode.SHADOW]
        turns = in_turn(real, self.writable, situation.history.written_by_namespace(now - _DAY))
        written = await self._each(turns, Permission(self._context, situation, self._first_seen), 0)
        if shadow is not None:
            rest = [each for each in candidates if each.mode is Mode.SHADOW]
            writable = partial(self.writable, shadow=True)
            turns = in_turn(rest, writable, shadow.history.written_by_namespace(now - _DAY))
            await self._each(turns, Permission(self._context, shadow, self._first_seen), written)
        return written

    async def _each(self, turns: list[Candidate], permission: Permission, written: int) -> int:
        """How many writes the run has made then, or shadowed; so many were made before."""
        for candidate in turns:
            try:
                if candidate.mode is Mode.PLAN or candidate.remediation.proposes_only:
                    await self._planning.show(candidate)
                else:
                    written += await self._turns.run(candidate, permission, written)
            except (NotLeadingError, LedgerError, KubeError):
                raise
            except Exception as error:  # noqa: BLE001 # one finding must not keep all others from being repaired
                await self._turns.raised(candidate, error)
                written += 1  # it may have been: the ledger then has an attempt without an end
            await asyncio.sleep(0)
        return written
