"""`steward reconcile plan`: what would be done about each finding, and why not."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from exporter.cli.output.structured import written
from exporter.cli.output.terminal import say

from ...act.execute import PlanWriter
from ...config.settings import mode_of
from ...confirm.confirm import Confirmed
from ...observe.source import Found
from ...plan.plan import Refused
from ...plan.remediation import Remediation
from ...run.attempt import AttemptState, dry_run
from ...show.plans import Repair
from ..gating import Gating, asked_as
from ..kustomization import component, snippet
from ..next_commands import aimed
from ..plan_diff import diffs
from ..plan_text import shown
from ..session import Session, add_options, answering, desk, finish
from ..writing import add_ledger_option, known

__all__ = ["add"]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "plan",
        help="show what would be done about findings; writes nothing",
        description="Confirms findings on fresh reads and shows the writes that would repair them. Nothing is written.",
    )
    parser.add_argument("fingerprints", nargs="*", metavar="FINGERPRINT", help="of findings, or ids of causes")
    parser.add_argument("--remediation", metavar="ID", help="only plans of this remediation")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="only findings of this namespace")
    parser.add_argument(
        "--dry-run", action="store_true", help="also ask the API server and its webhooks, by a dry run of each write"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "yaml", "diff", "kustomize"),
        default="table",
        help="default: table; diff: what each write does to its object; kustomize: patches for what is in Git",
    )
    parser.add_argument("--directory", type=Path, metavar="DIR", help="with -o kustomize: write a component there")
    add_ledger_option(parser)
    add_options(parser)
    parser.set_defaults(run=lambda arguments: finish(_run(arguments)))


async def _run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    if arguments.directory is not None and output != "kustomize":
        raise ValueError("--directory is for -o kustomize")
    async with desk(arguments) as at:
        observed = await at.observed()
        gating = Gating(at, observed, known(arguments, at))
        plans = [
            await _repair(at, found, remediation, gating)
            for found in observed.findings
            if _chosen(found, arguments)
            for remediation in answering(found)
            if arguments.remediation in (None, remediation.id)
        ]
    if output == "diff":
        say(aimed(diffs(plans), arguments))
    elif output == "kustomize" and arguments.directory is not None:
        say(component(plans, arguments.directory))
    elif output == "kustomize":
        say(aimed(snippet(plans), arguments), "yaml")
    else:
        repairs = [repair for repair, _ in plans]
        say(written(repairs, output, lambda found: aimed(shown(found), arguments)), output)
    return 0


def _chosen(found: Found, arguments: argparse.Namespace) -> bool:
    wanted = arguments.fingerprints
    return arguments.namespace in (None, found.namespace) and (
        not wanted or any(each.startswith(given) for given in wanted for each in (found.hint.fingerprint, found.cause))
    )


async def _repair(
    at: Session, found: Found, remediation: Remediation, gating: Gating
) -> tuple[Repair, Confirmed | None]:
    mode = mode_of(at.config, remediation.id, found.namespace)
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
