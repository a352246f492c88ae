"""Plans of candidates, and which of them are shown while nothing is written."""

from __future__ import annotations

from ..confirm.confirm import Confirmed, confirm
from ..plan.plan import Plan, Refused
from ..show.plans import Repair
from .context import Candidate, RunContext

_READS = 50  # plans that are made for display in one run
_LASTS = 600.0  # seconds that such a plan is shown


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
        shown = self._context.board.get(*candidate.key)
        if (shown is not None and not self._outdated(shown)) or not self._reads_left:
            return shown or self.repair(candidate)
        self._reads_left -= 1
        made = await self.make(candidate)
        repair = self.repair(candidate)
        repair = repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made)
        await self._context.board.put(repair)
        return repair

    def waiting(self, candidate: Candidate) -> Plan | None:
        """The plan that is shown as waiting for its approval; None where there is none, or it is to be made anew."""
        plan, shown = self._plans.get(candidate.key), self._context.board.get(*candidate.key)
        return plan if shown is not None and shown.state == "waiting" and not self._outdated(shown) else None

    def _outdated(self, shown: Repair) -> bool:
        return self._context.clock() - shown.at > _LASTS
