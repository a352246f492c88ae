"""`steward reconcile plan`: what would be done about each finding, and why not."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.aimed import Aim
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.structured import written
from exporter.cli.output.text.terminal import say
from exporter.views.exit_codes import exit_code

from ...act.execute import PlanWriter
from ...confirm.confirm import Confirmed
from ...observe.source import Found
from ...plan.plan import Refused
from ...plan.remediation import Remediation
from ...plan.remediations import all_remediations
from ...run.attempt import AttemptState, dry_run
from ...show.plans import Repair
from ...show.repair_causes import grouped
from ..answering import complain_unanswered, is_of, refuse_unfound
from ..fitting import readable
from ..gating import Gating, asked_as, mode_at
from ..kustomization import component, snippet
from ..plan_diff import diffs
from ..plan_text import shown, shown_by_cause, shown_wide
from ..session import Session, answering, desk, finish, known_remediation
from ..writing import known


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    if arguments.directory is not None and output != "kustomize":
        raise ValueError("--directory is for -o kustomize")
    if arguments.namespace == "":
        raise ValueError("a name is empty; for all namespaces leave -n out")
    asked = [known_remediation(arguments.remediation)] if arguments.remediation else all_remediations()
    if arguments.by_cause and output in ("wide", "diff", "kustomize"):
        raise ValueError("--by-cause is for tables, JSON and YAML")
    async with desk(arguments) as at:
        observed = await at.observed(arguments.namespace)
        refuse_unfound(observed, arguments.fingerprints)
        gating = Gating(at, observed, known(arguments, at))
        plans = [
            await _repair(at, found, remediation, gating)
            for found in observed.findings
            if _chosen(found, arguments)
            for remediation in answering(found)
            if remediation in asked
        ]
    repairs = [repair for repair, _ in plans]
    perhaps = not arguments.fingerprints and complain_unanswered(observed, asked, arguments.namespace)
    if repairs or not perhaps or output in ("json", "yaml"):
        _show(plans, arguments)
    return exit_code(unknown=perhaps)


def _show(plans: list[tuple[Repair, Confirmed | None]], arguments: argparse.Namespace) -> None:
    output, repairs = arguments.output, [repair for repair, _ in plans]
    if arguments.by_cause:
        say(written(grouped(repairs), output, lambda found: shown_by_cause(found, width())), output)
    elif output == "wide":
        say(aim_of(arguments).command(shown_wide(repairs)), output)
    elif output == "diff":
        say(_remarks_aimed(diffs(plans), aim_of(arguments)))
    elif output == "kustomize" and arguments.directory is not None:
        say(component(plans, arguments.directory))
    elif output == "kustomize":
        say(_remarks_aimed(snippet(plans), aim_of(arguments)), "yaml")
    else:
        tried = _tried(repairs) if arguments.dry_run else ""
        say(written(repairs, output, lambda found: readable(f"{shown(found)}{tried}", arguments)), output)


def _remarks_aimed(text: str, aim: Aim) -> str:
    """What is no remark is of an object, and stays as that has it."""
    lines = text.splitlines(keepends=True)
    return "".join(aim.command(line) if line.startswith("#") else line for line in lines)


def _tried(repairs: Sequence[Repair]) -> str:
    """How many writes the API server took as a dry run: a plan that it took looks like one that was not tried."""
    asked = [each for each in repairs if each.hash and each.proposal is None]
    taken = sum(each.refused is None for each in asked)
    return f"\nDry run: the API server and its webhooks take {taken} of {len(asked)} writes.\n" if asked else ""


def _chosen(found: Found, arguments: argparse.Namespace) -> bool:
    wanted = arguments.fingerprints
    own = arguments.namespace in (None, found.namespace)
    return own and (not wanted or any(is_of(found, each) for each in wanted))


async def _repair(
    at: Session, found: Found, remediation: Remediation, gating: Gating
) -> tuple[Repair, Confirmed | None]:
    mode = await mode_at(at, remediation.id, found.namespace)
    repair = Repair.of(found, remediation.id, mode, time.time())
    made = await at.planned(found, remediation)
    if isinstance(made, Refused):
        return repair.unplanned(made), None
    repair = repair.planned(made)
    if at.arguments.dry_run and made.plan.proposal is None:
        result = await dry_run(made, PlanWriter(at.transport), at.reads, at.kinds)
        if result.state != AttemptState.DRY:
            return repair.unplanned(Refused(result.refused, result.why)), None
    if made.plan.proposal is not None:
        return repair, made
    return repair.held_up(await gating.blocked(found, remediation, made, asked_as(mode))), made
