"""`steward reconcile call-off`: cancels the evacuations of one node, once nobody drains it any more."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from exporter.cli.output.terminal import complain, one_line, say

from ...config.settings import Mode
from ...confirm.confirm import Confirmed
from ...observe.source import Found, Observed
from ...plan.plan import Refused
from ...plan.remediations.drains.cancel_stale_evacuation import REMEDIATION
from ...run.attempt import Attempts, AttemptState, Result
from ...run.witness import cluster_uid
from ...show.plans import Repair
from ..calling_off import asked_to_leave, closed, planned
from ..gating import Gating
from ..next_commands import aimed
from ..plan_text import shown
from ..session import Session, desk, finish
from ..writing import agreed, attempts, directory_of, opened, settled, who

__all__ = ["run"]

_OVER = ("finding_holds", "same_object", "not_being_deleted")  # it is over without us


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    """Raises ValueError, KubeError, SourceError, LedgerError."""
    async with desk(arguments) as at:
        name = arguments.node
        if why := await closed(at.reads, name):
            complain(f"{why}: a drain may wait for its VMIs to leave; uncordon it first")
            return 1
        asked = await asked_to_leave(at.reads, name)
        made = [await planned(at, name, each) for each in asked]
        say(
            aimed(shown([_repair(*each) for each in made]), arguments)
            if made
            else f"No VMI is asked to leave {name}.\n"
        )
        plans = [(found, plan) for found, plan in made if isinstance(plan, Confirmed)]
        if not plans or not agreed(arguments, f"Call off {len(plans)} of {len(made)}?"):
            return 1 if made else 0
        observed = await at.observed()
        directory = directory_of(arguments, at)
        with opened(directory, await cluster_uid(at.reads)) as ledger:
            attempting = attempts(at, ledger)
            await settled(attempting, ledger)
            calls = _Calls(
                at, name, observed, attempting, Gating(at, observed, directory, ledger.probe()), await who(at)
            )
            code = await calls.all(plans)
        return code or (1 if len(plans) < len(made) else 0)


@dataclass
class _Calls:
    at: Session
    node: str
    observed: Observed
    attempting: Attempts
    gating: Gating
    by: str

    async def all(self, plans: list[tuple[Found, Confirmed]]) -> int:
        """One after the other; whichever does not end as it should ends it. The exit code."""
        for number, (found, plan) in enumerate(plans):
            result = await self._one(found, plan)
            subject = one_line(str(found.hint.subject))
            if result.state == AttemptState.DONE:
                say(f"{subject}: called off, attempt {result.attempt}.\n")
                if not result.why:
                    continue
                complain(result.why)
            elif result.state == AttemptState.REFUSED and result.refused in _OVER:
                say(f"{subject}: nothing to call off any more. {one_line(result.why)}\n")
                continue
            else:
                what = f"refused, {result.refused}" if result.state == AttemptState.REFUSED else result.state
                complain(aimed(f"{subject}: {what}: {result.why}", self.at.arguments))
            refused = result.state == AttemptState.REFUSED
            left = len(plans) - number - (0 if refused else 1)
            complain(f"stopped; {left} of {len(plans)} are left as they are")
            return 1 if refused else 2
        return 0

    async def _one(self, found: Found, shown_plan: Confirmed) -> Result:
        async def make() -> Confirmed | Refused:
            if why := await closed(self.at.reads, self.node):
                return Refused("not_being_drained", f"{why} again: a drain may wait for its VMIs to leave")
            again = await self.at.planned(found, REMEDIATION)
            if isinstance(again, Confirmed) and again.plan.hash != shown_plan.plan.hash:
                return Refused("same_plan", "the plan is another one than the one that was shown")
            return again

        async def permit(confirmed: Confirmed) -> Refused | None:
            return await self.gating.refused(found, REMEDIATION, confirmed, Mode.APPLY)

        return await self.attempting.run(make, permit, mode=Mode.APPLY.value, by=lambda: self.by)


def _repair(found: Found, made: Confirmed | Refused) -> Repair:
    repair = Repair.of(found, REMEDIATION.id, Mode.APPLY, time.time())
    return repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made)
