"""`steward reconcile apply`: carries out one plan now, by the person who asks."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from exporter.cli.output.terminal import complain, say

from ...config.settings import Mode
from ...confirm.confirm import Confirmed
from ...observe.source import Found
from ...plan.plan import Refused
from ...plan.remediation import Remediation
from ...run.attempt import AttemptState, Result
from ...run.witness import cluster_uid
from ...show.plans import Repair
from ..gating import Gating
from ..next_commands import aimed
from ..plan_text import shown
from ..session import desk, finish, named
from ..writing import (
    agreed,
    attempts,
    directory_of,
    named_directory,
    opened,
    settled,
    taking_back,
    who,
)

__all__ = ["ended", "run"]


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    async with desk(arguments) as at:
        observed = await at.observed()
        found, remediation = named(observed, arguments.fingerprint, arguments.remediation)
        made = await at.planned(found, remediation)
        say(aimed(shown([_repair(found, remediation, made)]), arguments))
        if isinstance(made, Refused) or made.plan.proposal is not None:
            return 1
        if arguments.plan and made.plan.hash != arguments.plan:
            complain(f"the plan is {made.plan.hash} now, and not {arguments.plan}; look at it anew")
            return 1
        if not agreed(arguments, "Carry it out?"):
            return 1
        by = await who(at)
        directory = directory_of(arguments, at)
        with opened(directory, await cluster_uid(at.reads)) as ledger:
            attempting = attempts(at, ledger)
            await settled(attempting, ledger)
            gating = Gating(at, observed, directory, ledger.probe())

            async def make() -> Confirmed | Refused:
                again = await at.planned(found, remediation)
                if isinstance(again, Confirmed) and again.plan.hash != made.plan.hash:
                    return Refused("same_plan", "the plan is another one than the one that was shown")
                return again

            async def permit(confirmed: Confirmed) -> Refused | None:
                return await gating.refused(found, remediation, confirmed, Mode.APPLY)

            result = await attempting.run(make, permit, mode=Mode.APPLY.value, by=lambda: by)
    return ended(result, named_directory(arguments, at), arguments)


def ended(result: Result, directory: Path | None, arguments: argparse.Namespace) -> int:
    """Says how an attempt ended, and gives the exit code; `directory` is as of `taking_back`."""
    if result.state == AttemptState.DONE:
        back = taking_back(result.plan, result.attempt, directory) if result.plan is not None else ""
        say(f"Done, attempt {result.attempt}. {aimed(back, arguments)}\n")
        if result.why:
            complain(result.why)
        return 2 if result.why else 0
    what = f"refused, {result.refused}" if result.state == AttemptState.REFUSED else result.state
    complain(aimed(f"{what}: {result.why}", arguments))
    return 2 if result.state == AttemptState.UNCLEAR else 1


def _repair(found: Found, remediation: Remediation, made: Confirmed | Refused) -> Repair:
    repair = Repair.of(found, remediation.id, Mode.APPLY, time.time())
    return repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made)
