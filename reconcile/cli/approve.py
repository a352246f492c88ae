"""`steward reconcile approve`: lets the sidecar carry out one plan, for a while."""

from __future__ import annotations

import argparse
import time
from typing import Any

from exporter.cli.terminal import complain, say

from ..annotations import APPROVED_PLAN
from ..approval import write
from ..board import sentence
from ..effects import annotation
from ..execute import Outcome, Writer
from ..plan import Patch, Plan, Refused
from .desk import Desk, add_options, desk, finish, named
from .writing import who

__all__ = ["add"]

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "approve",
        help="let the sidecar carry out one plan",
        description="Confirms a finding, and annotates the object with the plan's hash, your name and an end. The "
        "sidecar carries it out where the remediation's mode is approve; `steward reconcile apply` needs no sidecar.",
    )
    parser.add_argument("fingerprint", metavar="FINGERPRINT", help="of the finding; its first digits are enough")
    parser.add_argument("--remediation", metavar="ID", help="which one, where there are several")
    parser.add_argument("--plan", metavar="HASH", help="only if it is still this plan")
    parser.add_argument("--for", dest="lasting", default=3600.0, type=_duration, metavar="TIME", help="default: 1h")
    add_options(parser)
    parser.set_defaults(run=lambda arguments: finish(_run(arguments)))


async def _run(arguments: argparse.Namespace) -> int:
    async with desk(arguments) as at:
        found, remediation = named(await at.observed(), arguments.fingerprint, arguments.remediation)
        made = await at.planned(found, remediation)
        if isinstance(made, Refused):
            complain(f"refused, {made.precondition}: {made.why}")
            return 1
        plan = made.plan
        if plan.proposal is not None:
            complain(f"{plan.proposal.owner} owns it; {plan.proposal.where}")
            return 1
        if arguments.plan and plan.hash != arguments.plan:
            complain(f"the plan is {plan.hash} now, and not {arguments.plan}: {sentence(plan)}; look at it anew")
            return 1
        text = write(plan, await who(at), time.time() + arguments.lasting)
        code = await _annotate(at, plan, made.whole, APPROVED_PLAN, text)
        if not code:
            say(f"The sidecar carries it out where the mode of {remediation.id} is approve.\n")
        return code


async def _annotate(at: Desk, plan: Plan, whole: Any, name: str, text: str) -> int:
    """Puts an annotation on the object that a plan is bound to; the exit code."""
    ref = plan.bound_to
    kind = at.kinds[ref.kind]
    step = Patch(target=ref, ops=(annotation(whole, name, text),))
    answer = await Writer(at.transport).write(step, kind, await at.reads.served(kind), whole)
    if answer.outcome is not Outcome.ACCEPTED:
        complain(f"cannot annotate {ref}: {answer.why}")
        return 2
    say(f"{ref} has annotation {name}: {text}\n")
    return 0


def _duration(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 30m, 1h or 1d")
    return int(number) * _UNITS[unit]
