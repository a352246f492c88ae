"""`steward check`: looks once, at a cluster or at a dump of one, and prints what it finds."""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from ...checks import all_checks
from ...config.settings import Config
from ...engine.engine import Engine
from ...offline.files import DumpError
from ...sidecar.repairs import Repairs
from ...views.edits import EditProbes, unsettled
from ...views.findings import Report, take, with_causes
from ...views.repairs import reconcile_of
from ..input.config import configured
from ..input.dumps import dumps_of
from ..input.edit_probes import ask_edits, refuse_probe_of_dump
from ..input.evaluated_dumps import DumpReading, evaluate_each
from ..input.filters import Filters, UsageError, filters_of
from ..input.namespaces import namespaces_of, refuse_unknown
from ..input.once import complain_if_late, refuse_complete_without_dump
from ..output.edit_probes import edits
from ..output.report import rendered, unread
from ..output.terminal import complain, say

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    try:
        config = configured(arguments).config
        dumps = dumps_of(arguments.dump or ())
        enabled = [check for check in all_checks() if config.of(check.id).enabled]
        filters = filters_of(arguments, enabled, several=len(dumps) > 1)
        if not dumps:
            return _live(arguments, config, filters)
        refuse_probe_of_dump(arguments, "--probe-features")
        report, read = evaluate_each(dumps, DumpReading(config, filters, arguments.complete))
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    say(rendered(report, arguments.output, filters.checks, read, commands=not arguments.no_commands), arguments.output)
    return exit_code(report)


def _live(arguments: argparse.Namespace, config: Config, filters: Filters) -> int:
    refuse_complete_without_dump(arguments)
    whole, in_time, engine = asyncio.run(_look(arguments, config))
    refuse_unknown(sorted(filters.namespaces), namespaces_of(engine.cluster))
    report = with_causes(filters.of(whole, engine), engine)
    say(rendered(report, arguments.output, filters.checks, commands=not arguments.no_commands), arguments.output)
    if isinstance(report.probes, EditProbes) and arguments.output not in ("json", "yaml"):
        (say if arguments.output == "table" else complain)(edits(report.probes))
    complain_if_late(arguments, in_time)
    return exit_code(report, in_time)


def exit_code(report: Report, in_time: bool = True) -> int:
    """2 goes before 1: what was found may not be all."""
    if report.unknown or unread(report) or not in_time or unsettled(report.probes):
        return 2
    return 1 if report.findings else 0


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Report, bool, Engine]:
    from ...kube.probe import EditProbe  # not for a dump
    from ..input.looking import looking

    async with looking(arguments, config, views=()) as look:
        steward = look.steward
        report = take(steward.engine)
        if steward.follower is not None:
            await steward.follower.once()
            report = _repaired(report, steward.repairs)
        if arguments.probe:
            probes = await ask_edits(steward.engine.cluster, EditProbe(look.transport), most=arguments.probe_most)
            report = msgspec.structs.replace(report, probes=probes)
        return report, look.in_time, steward.engine


def _repaired(report: Report, repairs: Repairs) -> Report:
    """With what the sidecar says of each finding."""
    findings = [msgspec.structs.replace(each, repairs=repairs.of(each.fingerprint)) for each in report.findings]
    return msgspec.structs.replace(report, findings=findings, reconcile=reconcile_of(repairs))
