"""`steward reconcile approve`: lets the sidecar carry out one plan, or those of one cause, for a while."""

from __future__ import annotations

import argparse
import time
from typing import Any

import msgspec

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, say

from ...carry_out.confirm import Confirmed
from ...carry_out.execute import PlanWriter, WriteOutcome
from ...carry_out.permission import approval
from ...config.settings import Mode
from ...decide.approval import approved, write
from ...decide.gates import GATES, Blocked
from ...decide.repair import Found
from ...ledger.history import History
from ...plan.annotations import APPROVED_PLAN
from ...plan.effects import annotation
from ...plan.plan import Patch, Plan, Refused, moment
from ...plan.remediation import Remediation
from ...plan.text import sentence
from ..gating import Gating, first, mode_at
from ..ledger_pages import history_of
from ..parsers import AT_ONCE
from ..plan_text import shown
from ..session import Session, chosen, finish, named, open_session
from ..several import Chosen, listed, of_cause, readable
from ..writing import agreed, known, who


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    async with open_session(arguments) as at:
        observed = await at.observed()
        gating = Gating(at, observed, known(arguments, at))
        if findings := of_cause(observed, arguments.fingerprint):
            return await _all_of(at, gating, findings)
        if arguments.limit is not None:
            raise ValueError(f"no cause has ID {arguments.fingerprint}. --limit is for the objects of a cause")
        found, remediation = named(observed, arguments.fingerprint, arguments.remediation)
        made = await at.planned(found, remediation)
        if isinstance(made, Refused):
            complain(f"refused, {made.precondition}: {made.why}")
            return 1
        plan = made.plan
        if plan.proposal is not None:
            complain(plan.proposal.said)
            return 1
        if arguments.plan and plan.hash != arguments.plan:
            complain(f"the plan is now {plan.hash}, not {arguments.plan}: {sentence(plan)}. Review it again")
            return 1
        code = await _approved(at, gating, found, remediation, made)
        if not code:
            say(f"The sidecar carries it out if the mode of {remediation.id} is approve.\n")
            _tell_unknown(arguments)
        return code


async def _all_of(at: Session, gating: Gating, findings: list[Found]) -> int:
    """The plans of a cause, one an object. Raises ValueError, KubeError."""
    arguments = at.arguments
    if arguments.plan is not None:
        raise ValueError("--plan is for one finding. Name its fingerprint")
    remediation = chosen(findings[0], arguments.remediation)
    directory = known(arguments, at)
    history = history_of(directory, time.time()) if directory is not None else History()

    def standing(made: Confirmed) -> bool:
        """Whether an approval of the plan is on the object that has let nothing happen yet, as far as is known."""
        why = approved(made.plan, made.whole, time.time(), at.config.approval.longest)
        return not why and not history.used(approval(made))

    plans = await listed(at, findings, remediation, Mode.APPROVE, arguments.limit or AT_ONCE, standing)
    say(readable(shown([msgspec.structs.replace(each.repair, commands=()) for each in plans.chosen]), arguments))
    if others := plans.others(findings[0].cause):
        say(readable(f"\n{others}\n", arguments))
    if not plans.chosen:
        return 1 if plans.refused or plans.proposed else 0
    count = len(plans.chosen)
    if not agreed(arguments, f"Approve {'it' if count == 1 else f'these {count}'}?"):
        return 1
    code, given = 0, 0
    for each in plans.chosen:
        own = await _approved_again(at, gating, each, remediation)
        code, given = max(code, own), given + (not own)
    when = f"if the mode of {remediation.id} is approve"
    say(f"{given} of {count} are approved. The sidecar carries out approved plans {when}.\n")
    _tell_unknown(arguments)
    return code


async def _approved_again(at: Session, gating: Gating, shown: Chosen, remediation: Remediation) -> int:
    """As `_approved`, if it is still the plan that was shown: somebody has thought about it meanwhile."""
    again, bound_to = await at.planned(shown.found, remediation), shown.made.plan.bound_to
    if isinstance(again, Refused):
        complain(f"{bound_to}: refused, {again.precondition}: {again.why}")
        return 1
    if again.plan.proposal is not None or again.plan.hash != shown.made.plan.hash:
        complain(f"{bound_to}: the plan changed after it was shown. Review it again")
        return 1
    return await _approved(at, gating, shown.found, remediation, again, f"{bound_to}: ")


async def _approved(
    at: Session, gating: Gating, found: Found, remediation: Remediation, made: Confirmed, of: str = ""
) -> int:
    """Annotates the object of a plan, if it may be carried out then; the exit code. What is said begins with `of`."""
    plan = made.plan
    gates = await gating.blocked(found, remediation, made, Mode.APPROVE)
    mode = await mode_at(at, plan.remediation, found.namespace)
    if why := _in_vain(at, found, plan, gates, mode):
        complain(aim_of(at.arguments).command(f"{of}{why}"))
        return 1
    now = time.time()
    until = now + at.arguments.lasting
    code = await _annotate(at, plan, made.whole, APPROVED_PLAN, write(plan.hash, await who(at), now, until))
    if not code:
        _warn(at.arguments, gates, until, of)
    return code


def _in_vain(at: Session, found: Found, plan: Plan, gates: tuple[Blocked, ...], mode: Mode) -> str:
    """Why the sidecar will not carry out what is approved, however long it waits; empty where it may."""
    if at.arguments.config is not None and mode is not Mode.APPROVE:
        command = f"steward reconcile apply {plan.fingerprint} --remediation {plan.remediation} --plan {plan.hash}"
        return (
            f"the mode of {plan.remediation} is {mode.value} in namespace {found.namespace or '(none)'}, and "
            f"only mode approve uses approvals. Set it in the sidecar's configuration, or run: {command}"
        )
    lasting = {gate.id for gate in GATES if gate.lasts}
    refused = first(tuple(each for each in gates if each.gate in lasting))
    return f"refused, {refused.precondition}: {refused.why}" if refused else ""


def _tell_unknown(arguments: argparse.Namespace) -> None:
    if arguments.config is None:
        complain("its mode, limits and windows are unknown here. Set --config to the sidecar's configuration")


def _warn(arguments: argparse.Namespace, gates: tuple[Blocked, ...], until: float, of: str) -> None:
    """What holds it up for now."""
    for each in gates:
        late = each.until is not None and each.until >= until
        more = f". The approval ends before, at {moment(until)}. Set a longer --for" if late else ""
        complain(aim_of(arguments).command(f"{of}it waits, {each.gate}: {each.why}{more}"))


async def _annotate(at: Session, plan: Plan, whole: Any, name: str, text: str) -> int:
    """Puts an annotation on the object that a plan is bound to; the exit code."""
    ref = plan.bound_to
    kind = at.kinds[ref.kind]
    step = Patch(target=ref, ops=(annotation(whole, name, text),))
    answer = await PlanWriter(at.transport).write(step, kind, await at.reads.served(kind), whole)
    if answer.outcome is not WriteOutcome.ACCEPTED:
        complain(f"can't annotate {ref}: {answer.why}")
        return 2
    say(f"{ref} has annotation {name}: {text}\n")
    return 0
