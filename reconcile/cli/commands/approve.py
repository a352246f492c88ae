"""`steward reconcile approve`: lets the sidecar carry out one plan, for a while."""

from __future__ import annotations

import argparse
import time
from typing import Any

from exporter.cli.output.terminal import complain, say

from ...act.execute import PlanWriter, WriteOutcome
from ...config.settings import Mode, mode_of
from ...decide.approval import write
from ...decide.gates import GATES, Blocked
from ...observe.source import Found
from ...plan.annotations import APPROVED_PLAN
from ...plan.effects import annotation
from ...plan.plan import Patch, Plan, Refused
from ...plan.time_text import moment
from ...show.plans import sentence
from ..gating import Gating, first
from ..next_commands import aimed
from ..session import Session, desk, finish, named
from ..writing import known, who

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


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
        if why := _in_vain(at, found, plan, gates):
            complain(aimed(why, arguments))
            return 1
        until = time.time() + arguments.lasting
        text = write(plan, await who(at), until)
        code = await _annotate(at, plan, made.whole, APPROVED_PLAN, text)
        if not code:
            say(f"The sidecar carries it out where the mode of {remediation.id} is approve.\n")
            _warn(arguments, gates, until)
        return code


def _in_vain(at: Session, found: Found, plan: Plan, gates: tuple[Blocked, ...]) -> str:
    """Why the sidecar will not carry out what is approved, however long it waits; empty where it may."""
    mode = mode_of(at.config, plan.remediation, found.namespace)
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
