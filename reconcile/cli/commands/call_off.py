"""`steward reconcile call-off`: cancels the evacuations of one node, once nobody drains it any more."""

from __future__ import annotations

import argparse
import time

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, one_line, say

from ...config.settings import Mode
from ...confirm.confirm import Confirmed
from ...observe.source import Found
from ...plan.plan import Refused
from ...plan.remediations.drains.cancel_stale_evacuation import REMEDIATION
from ...run.attempt import AttemptState
from ...show.plans import Repair
from ..applying import Applying
from ..calling_off import asked_to_leave, closed, planned
from ..fitting import readable
from ..plan_text import shown
from ..session import Session, desk, finish
from ..writing import agreed

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
            readable(shown([_repair(*each) for each in made]), arguments)
            if made
            else f"No VMI is asked to leave {name}.\n"
        )
        plans = [(found, plan) for found, plan in made if isinstance(plan, Confirmed)]
        if not plans or not agreed(arguments, f"Call off {len(plans)} of {len(made)}?"):
            return 1 if made else 0
        async with Applying.begun(at, await at.observed()) as applying:
            code = await _all(at, name, plans, applying)
        return code or (1 if len(plans) < len(made) else 0)


async def _all(at: Session, name: str, plans: list[tuple[Found, Confirmed]], applying: Applying) -> int:
    """One after the other; whichever does not end as it should ends it. The exit code."""

    async def closed_again() -> Refused | None:
        why = await closed(at.reads, name)
        return Refused("not_being_drained", f"{why} again: a drain may wait for its VMIs to leave") if why else None

    written = 0
    for number, (found, plan) in enumerate(plans):
        result = await applying.carried_out(found, REMEDIATION, plan, written, closed_again)
        subject = one_line(str(found.hint.subject))
        if result.state == AttemptState.DONE:
            written += 1
            say(f"{subject}: called off, attempt {result.attempt}.\n")
            if not result.why:
                continue
            complain(result.why)
        elif result.state == AttemptState.REFUSED and result.refused in _OVER:
            say(f"{subject}: nothing to call off any more. {one_line(result.why)}\n")
            continue
        else:
            what = f"refused, {result.refused}" if result.state == AttemptState.REFUSED else result.state
            complain(aim_of(at.arguments).command(f"{subject}: {what}: {result.why}"))
        refused = result.state == AttemptState.REFUSED
        complain(f"stopped; {len(plans) - number - (0 if refused else 1)} of {len(plans)} are left as they are")
        return 1 if refused else 2
    return 0


def _repair(found: Found, made: Confirmed | Refused) -> Repair:
    repair = Repair.of(found, REMEDIATION.id, Mode.APPLY, time.time())
    return repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made)
