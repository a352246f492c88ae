"""`steward reconcile apply`: carries out one plan now, or several of one remediation, by the person who asks."""

from __future__ import annotations

import argparse
import shlex

from exporter.cli.output.text.terminal import complain, say
from exporter.questions.trust import exit_code

from ...carry_out.finding_source import Observed
from ...config.settings import Mode
from ...decide.repair import Found
from ...plan.plan import Refused
from ...plan.remediation import Remediation
from ..applying import Applying, ended
from ..parsers import AT_ONCE
from ..plan_text import shown
from ..session import Session, answering, complain_unanswered, finish, known_remediation, named, open_session
from ..several import in_order, listed, readable, repair_of
from ..writing import agreed, named_directory


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    remediation = _several(arguments)
    async with open_session(arguments) as at:
        observed = await at.observed(arguments.namespace)
        if remediation is not None:
            return await _all_of(at, observed, remediation)
        return await _one(at, observed)


def _several(arguments: argparse.Namespace) -> Remediation | None:
    """Of which remediation several plans are asked for; None where one finding is named. Raises ValueError."""
    everywhere = arguments.all_namespaces or arguments.namespace is not None
    if arguments.fingerprint is not None:
        if everywhere or arguments.limit is not None:
            raise ValueError("-n, -A and --limit are for several plans. Omit FINGERPRINT")
        return None
    if arguments.plan is not None:
        raise ValueError("--plan is for one finding. Name its FINGERPRINT")
    if not arguments.remediation or not everywhere:
        raise ValueError("name a FINGERPRINT. For several plans, set --remediation ID and -n NAMESPACE or -A")
    if arguments.namespace == "":
        raise ValueError("the namespace is empty. For all namespaces, use -A")
    return known_remediation(arguments.remediation)


async def _one(at: Session, observed: Observed) -> int:
    arguments = at.arguments
    found, remediation = named(observed, arguments.fingerprint, arguments.remediation)
    made = await at.planned(found, remediation)
    say(readable(shown([repair_of(found, remediation, made, Mode.APPLY)]), arguments))
    if isinstance(made, Refused) or made.plan.proposal is not None:
        return 1
    if arguments.plan and made.plan.hash != arguments.plan:
        complain(f"the plan is now {made.plan.hash}, not {arguments.plan}. Review it again")
        return 1
    if not agreed(arguments, "Carry it out?"):
        return 1
    async with Applying.begun(at, observed) as applying:
        result = await applying.carried_out(found, remediation, made)
    return ended(result, named_directory(arguments, at), arguments)


async def _all_of(at: Session, observed: Observed, remediation: Remediation) -> int:
    arguments = at.arguments
    findings = [each for each in in_order(observed.findings) if _wanted(each, remediation, arguments)]
    plans = await listed(at, findings, remediation, Mode.APPLY, arguments.limit or AT_ONCE)
    perhaps = complain_unanswered(observed, [remediation], arguments.namespace)
    if not findings and perhaps:
        return exit_code(unknown=True)
    say(readable(shown([each.repair for each in plans.chosen]), arguments))
    where = f" -n {shlex.quote(arguments.namespace)}" if arguments.namespace else ""
    if others := plans.others(f"--remediation {remediation.id}{where}"):
        say(readable(f"\n{others}\n", arguments))
    if not plans.chosen:
        return exit_code(found=bool(plans.refused or plans.proposed), unknown=perhaps)
    count = len(plans.chosen)
    if not agreed(arguments, f"Carry out {'it' if count == 1 else f'these {count}, until one fails'}?"):
        return 1
    async with Applying.begun(at, observed) as applying:
        return await applying.all_carried_out(plans.chosen, remediation, named_directory(arguments, at))


def _wanted(found: Found, remediation: Remediation, arguments: argparse.Namespace) -> bool:
    return arguments.namespace in (None, found.namespace) and remediation in answering(found)
