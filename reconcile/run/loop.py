"""The sidecar's work: from findings to repairs, one after another, in runs.

    observed ─> settle what has no end ─> verify what was done ─> for each finding: gates ─> plan ─> attempt

Only the leader does anything. What a run may do is decided by gates on what is known at its begin, and again right
before each write on what is read then.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from exporter.kube.errors import KubeError

from ..config.settings import Mode, mode_of
from ..confirm.confirm import Confirmed, confirm
from ..decide.gates import Situation
from ..lease.lease import NotLeadingError
from ..ledger import LedgerError
from ..observe.situation import annotated
from ..observe.source import Observed
from ..plan.annotations import APPROVED_PLAN
from ..plan.plan import Plan, Refused
from ..show.plans import Repair
from .attempt import AttemptState, Result
from .context import Candidate, RunContext
from .permission import Permission, approval
from .turns import in_turn

__all__ = ["Loop"]

log = logging.getLogger(__name__)
_READS = 50  # plans that are made for display in one run
_LONGEST_REST = 600.0
_LASTS = 600.0  # seconds that such a plan is shown
_DAY = 86_400.0
_PASSING = ("everything_seen", "same_plan", "unchanged", "read_just_now")  # refusals that say nothing of the object


class Loop:
    def __init__(self, parts: RunContext) -> None:
        self._parts = parts
        self._first_seen: dict[str, float] = {}
        self._plans: dict[tuple[str, str], Plan] = {}  # the last ones of those that may be carried out
        self._refused: dict[tuple[str, str], tuple[int, float]] = {}  # how often in a row, and until when it rests
        self._reads_left = 0

    def candidates(self, observed: Observed) -> list[Candidate]:
        """Whatever has a remediation that is not off."""
        return [
            Candidate(each, remediation, mode)
            for each in observed.findings
            for remediation in self._parts.remediations
            if each.hint.reason in remediation.answers.get(each.hint.check, ())
            and (mode := mode_of(self._parts.config, remediation.id, each.namespace)) is not Mode.OFF
        ]

    def writable(self, candidate: Candidate) -> bool:
        """Whether it would be written unasked, as far as is known: what was not planned yet may be."""
        if candidate.mode is not Mode.AUTO or candidate.remediation.proposes_only:
            return False
        if self._parts.following.awaited(candidate.found.hint.fingerprint):
            return False
        shown = self._parts.board.get(*candidate.key)
        if shown is None:
            return True
        return shown.proposal is None and (shown.refused is None or shown.refused.precondition in _PASSING)

    async def run(self, candidates: list[Candidate], situation: Situation) -> int:
        """One run; how many writes it made. Raises NotLeadingError, LedgerError."""
        now = self._parts.clock()
        await self._parts.board.keep(each.key for each in candidates)
        seen = {each.found.hint.fingerprint for each in candidates}
        self._first_seen = {each: self._first_seen.get(each, now) for each in seen}
        self._refused = {each.key: rest for each in candidates if (rest := self._refused.get(each.key)) is not None}
        self._plans = {each.key: plan for each in candidates if (plan := self._plans.get(each.key)) is not None}
        self._reads_left, written = _READS, 0
        permits = Permission(self._parts, situation, self._first_seen)
        for candidate in in_turn(candidates, self.writable, situation.history.written_by_namespace(now - _DAY)):
            try:
                if candidate.mode is Mode.PLAN or candidate.remediation.proposes_only:
                    await self._show(candidate)
                else:
                    written += await self._pursue(candidate, permits, written)
            except (NotLeadingError, LedgerError, KubeError):
                raise
            except Exception as error:  # noqa: BLE001 # one finding must not keep all others from being repaired
                await self._raised(candidate, error)
                written += 1  # it may have been: the ledger then has an attempt without an end
            await asyncio.sleep(0)
        return written

    async def _raised(self, candidate: Candidate, error: Exception) -> None:
        """Reports what nobody thought of, and lets the finding rest."""
        log.exception('event="repair raised" remediation=%s finding=%s', *reversed(candidate.key))
        why = f"{candidate.remediation} raised {type(error).__name__}: {error}; please report it"
        refused = Refused("everything_seen", why)
        self._rest(candidate, Result(AttemptState.REFUSED, refused=refused.precondition))
        await self._parts.board.put(self._repair(candidate).unplanned(refused))

    def _outdated(self, candidate: Candidate) -> bool:
        shown = self._parts.board.get(*candidate.key)
        return shown is None or self._parts.clock() - shown.at > _LASTS

    async def _show(self, candidate: Candidate) -> Repair:
        """Plans, now and then, and does nothing."""
        shown = self._parts.board.get(*candidate.key)
        if (shown is not None and not self._outdated(candidate)) or not self._reads_left:
            return shown or self._repair(candidate)
        self._reads_left -= 1
        made = await self._make(candidate)
        repair = self._repair(candidate)
        repair = repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made)
        await self._parts.board.put(repair)
        return repair

    async def _pursue(self, candidate: Candidate, permits: Permission, written: int) -> int:
        """Carries out what nothing blocks; how many writes were made."""
        parts, repair = self._parts, self._repair(candidate)
        if parts.following.awaited(candidate.found.hint.fingerprint):
            unclear = any(each.fingerprint == repair.fingerprint for each in permits.unfinished())
            await parts.board.put(msgspec.structs.replace(repair, state="unclear" if unclear else "verifying"))
            return 0
        if gates := await permits.blocked(candidate, written):
            shown = await self._show(candidate)
            await parts.board.put(msgspec.structs.replace(shown, state="blocked", blocked=gates))
            return 0
        if await self._still_waits(candidate):
            return 0
        started = parts.timer()
        made: list[Confirmed] = []

        async def make() -> Confirmed | Refused:
            answer = await self._make(candidate)
            if isinstance(answer, Confirmed):
                made.append(answer)
                self._plans[candidate.key] = answer.plan
            return answer

        async def permit(confirmed: Confirmed) -> Refused | None:
            return await permits.refused(candidate, confirmed, written)

        def asked() -> str:
            return approval(made[-1]) if candidate.mode is Mode.APPROVE else ""

        if parts.clock() < self._refused.get(candidate.key, (0, 0.0))[1]:
            return 0
        try:
            result = await parts.attempts.run(make, permit, mode=candidate.mode.value, by=asked)
        except (NotLeadingError, LedgerError):
            raise
        except KubeError as error:
            result = Result(AttemptState.REFUSED, refused="everything_seen", why=str(error))
        self._rest(candidate, result)
        await self._ended(repair.planned(made[0]) if made else repair, result, parts.timer() - started)
        return int(result.state in (AttemptState.DONE, AttemptState.FAILED, AttemptState.UNCLEAR))

    def _rest(self, candidate: Candidate, result: Result) -> None:
        """What is refused is tried again, after longer and longer: the API server need not refuse it each time."""
        times, _ = self._refused.pop(candidate.key, (0, 0.0))
        if result.state == AttemptState.REFUSED and result.refused != "approved":
            pause = min(self._parts.config.interval.total_seconds() * 2**times, _LONGEST_REST)
            self._refused[candidate.key] = (min(times + 1, 20), self._parts.clock() + pause)

    async def _still_waits(self, candidate: Candidate) -> bool:
        """Whether nobody has approved of the plan that is shown: one read, where a plan takes many."""
        plan, shown = self._plans.get(candidate.key), self._parts.board.get(*candidate.key)
        if plan is None or shown is None or shown.state != "waiting" or self._outdated(candidate):
            return False
        ref = plan.bound_to
        annotations = await annotated(self._parts.reads, self._parts.kinds[ref.kind], ref.namespace, ref.name)
        return annotations is not None and plan.hash not in str(annotations.get(APPROVED_PLAN, ""))

    async def _ended(self, repair: Repair, result: Result, seconds: float) -> None:
        parts, refused = self._parts, None
        state = {AttemptState.DONE: "verifying", AttemptState.UNCLEAR: "unclear", AttemptState.FAILED: "failed"}.get(
            result.state, "refused"
        )
        if result.state == AttemptState.REFUSED:
            refused = Refused(result.refused, result.why, result.unseen, result.remedy)
            state = "waiting" if result.refused == "approved" else "refused"
        else:
            parts.measures.ended(repair.remediation, repair.mode, result.state, seconds)
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
        await parts.board.put(msgspec.structs.replace(repair, state=state, refused=refused))

    async def _make(self, candidate: Candidate) -> Confirmed | Refused:
        hint = candidate.found.hint
        check = self._parts.checks[hint.check]
        return await confirm(
            hint,
            check,
            candidate.remediation,
            self._parts.reads,
            now=self._parts.clock(),
            settings=self._parts.settings.get(check.id),
            assumed=self._parts.assumed,
        )

    def _repair(self, candidate: Candidate) -> Repair:
        return Repair.of(candidate.found, candidate.remediation.id, candidate.mode, self._parts.clock())
