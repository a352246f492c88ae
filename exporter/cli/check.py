"""`steward check`: looks once, at a cluster or at a dump of one, and prints what it finds."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from ..app import assemble, wait_until_seen
from ..checks import all_checks
from ..config.settings import Config
from ..offline.files import DumpError
from ..views.findings import Report, take
from .cluster import add_cluster_options, transport_of
from .configured import add_config_option, configured
from .dumps import add_dump_options, dumps_of
from .evaluating import Reading, evaluate_each
from .filters import Filters, UsageError, add_filter_options, filters_of
from .output import FORMATS, rendered, unread
from .terminal import complain, say

__all__ = ["add", "run", "seconds"]

_EXIT = "Exit code: 0 nothing found, 1 findings, 2 could not see everything."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check", help="look once and print the findings", description="Looks once.", epilog=_EXIT
    )
    add_config_option(parser)
    add_cluster_options(parser)
    add_dump_options(parser, several=True)
    add_filter_options(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="default: table")
    parser.add_argument("--no-commands", action="store_true", help="the table without the commands of each finding")
    parser.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="SECONDS", help="to see a whole cluster; default: 60"
    )
    parser.set_defaults(run=run)


def seconds(text: str) -> float:
    try:
        given = float(text.removesuffix("s"))
    except ValueError:
        given = 0.0
    if given <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; write it as 60")
    return given


def run(arguments: argparse.Namespace) -> int:
    try:
        config = configured(arguments).config
        dumps = dumps_of(arguments.dump or ())
        enabled = [check for check in all_checks() if config.of(check.id).enabled]
        filters = filters_of(arguments, enabled, several=len(dumps) > 1)
        if not dumps:
            return _live(arguments, config, filters)
        report, read = evaluate_each(dumps, Reading(config, filters, arguments.complete))
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    say(rendered(report, arguments.output, filters.checks, read, commands=not arguments.no_commands), arguments.output)
    return exit_code(report)


def _live(arguments: argparse.Namespace, config: Config, filters: Filters) -> int:
    if arguments.complete:
        raise UsageError("--complete says what a dump holds; it needs --from")
    whole, in_time = asyncio.run(_look(arguments, config))
    report = filters.of(whole)
    say(rendered(report, arguments.output, filters.checks, commands=not arguments.no_commands), arguments.output)
    if not in_time:
        complain(f"not everything was seen within {arguments.timeout:.0f} s")
    return exit_code(report, in_time)


def exit_code(report: Report, in_time: bool = True) -> int:
    """2 goes before 1: what was found may not be all."""
    if report.unknown or unread(report) or not in_time:
        return 2
    return 1 if report.findings else 0


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Report, bool]:
    steward = assemble(transport_of(config), config, views=())
    async with steward.watching():
        in_time = await wait_until_seen(steward, arguments.timeout, complain)
        return take(steward.engine), in_time
