"""One candidate that may be written: what is in the way of it, its attempt, and what is shown of that.

awaited? ─> gates ─> waits for an approval? ─> rests? ─> attempt ─> shown
"""

from __future__ import annotations

import logging

from exporter.kube.errors import KubeError

from ..config.settings import Mode
from ..decide.gates import Blocked
from ..decide.repair import Repair
from ..ledger import LedgerError
from ..plan.annotations import APPROVED_PLAN
from ..plan.plan import Plan, Refused
from .attempt import AttemptState, Result
from .confirm import Confirmed, confirm
from .context import Candidate, RunContext
from .lease import NotLeadingError
from .permission import Permission, approval
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
