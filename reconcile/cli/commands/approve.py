"""`steward reconcile approve`: lets the sidecar carry out one plan, for a while."""

from __future__ import annotations

import argparse
import time
from typing import Any

from exporter.cli.output.terminal import complain, say

from ...act.execute import PlanWriter, WriteOutcome
from ...config.settings import Mode
from ...decide.approval import write
from ...decide.gates import GATES, Blocked
from ...observe.source import Found
from ...plan.annotations import APPROVED_PLAN
from ...plan.effects import annotation
from ...plan.plan import Patch, Plan, Refused
from ...plan.time_text import moment
from ...show.plans import sentence
from ..gating import Gating, first, mode_at
from ..next_commands import aimed
from ..session import Session, add_options, desk, finish, named
from ..writing import add_ledger_option, known, who

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
    add_ledger_option(parser)
    add_options(parser)
    parser.set_defaults(run=lambda arguments: finish(_run(arguments)))


async def _run(arguments: argparse.Namespace) -> int:
    async with desk(arguments) as at:
        observed = await at.observed()
        found, remediation = named(observed, arguments.fingerprint, arguments.remediation)
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
        gates = await Gating(at, observed, known(arguments, at)).blocked(found, remediation, made, Mode.APPROVE)
        mode = await mode_at(at, plan.remediation, found.namespace)
        if why := _in_vain(at, found, plan, gates, mode):
            complain(aimed(why, arguments))
            return 1
        until = time.time() + arguments.lasting
        text = write(plan, await who(at), until)
        code = await _annotate(at, plan, made.whole, APPROVED_PLAN, text)
        if not code:
            say(f"The sidecar carries it out where the mode of {remediation.id} is approve.\n")
            _warn(arguments, gates, until)
        return code


def _in_vain(at: Session, found: Found, plan: Plan, gates: tuple[Blocked, ...], mode: Mode) -> str:
    """Why the sidecar will not carry out what is approved, however long it waits; empty where it may."""
    if at.arguments.config is not None and mode is not Mode.APPROVE:
        command = f"steward reconcile apply {plan.fingerprint} --remediation {plan.remediation} --plan {plan.hash}"
        return (
            f"the mode of {plan.remediation} is {mode.value} in namespace {found.namespace or '(none)'}, and "
            f"an approval is for mode approve; set that in the sidecar's configuration, or: {command}"
        )
    lasting = {gate.id for gate in GATES if gate.lasts}
    refused = first(tuple(each for each in gates if each.gate in lasting))
    return f"refused, {refused.precondition}: {refused.why}" if refused else ""


def _warn(arguments: argparse.Namespace, gates: tuple[Blocked, ...], until: float) -> None:
    """What holds it up for now, and what is not known from here."""
    if arguments.config is None:
        complain("its mode, limits and windows are not known here; --config names the sidecar's configuration")
    for each in gates:
        late = each.until is not None and each.until >= until
        more = f"; the approval ends before, at {moment(until)}: give a longer --for" if late else ""
        complain(aimed(f"it waits, {each.gate}: {each.why}{more}", arguments))


async def _annotate(at: Session, plan: Plan, whole: Any, name: str, text: str) -> int:
    """Puts an annotation on the object that a plan is bound to; the exit code."""
    ref = plan.bound_to
    kind = at.kinds[ref.kind]
    step = Patch(target=ref, ops=(annotation(whole, name, text),))
    answer = await PlanWriter(at.transport).write(step, kind, await at.reads.served(kind), whole)
    if answer.outcome is not WriteOutcome.ACCEPTED:
        complain(f"cannot annotate {ref}: {answer.why}")
        return 2
    say(f"{ref} has annotation {name}: {text}\n")
    return 0


def _duration(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 30m, 1h or 1d")
    return int(number) * _UNITS[unit]
