"""`steward check`: looks once, and prints what it finds."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

import msgspec

from ..app import assemble, wait_until_seen
from ..config.settings import Config
from ..report import Report, take
from .cluster import add_cluster_options, transport_of
from .configured import add_config_option, configured
from .table import table

__all__ = ["add", "run"]

_EXIT = "Exit code: 0 nothing found, 1 findings, 2 could not see everything."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check", help="look once and print the findings", description="Looks once.", epilog=_EXIT
    )
    add_config_option(parser)
    add_cluster_options(parser)
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table", help="default: table")
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="to see everything; default: 60"
    )
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; write it as 60")
    return seconds


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    report, in_time = asyncio.run(_look(arguments, config))
    sys.stdout.write(_rendered(report, arguments.output))
    if not in_time:
        print(f"steward: not everything was seen within {arguments.timeout:.0f} s", file=sys.stderr)
    return exit_code(report, in_time)


def exit_code(report: Report, in_time: bool = True) -> int:
    """2 goes before 1: what was found may not be all."""
    if report.unknown or not in_time:
        return 2
    return 1 if report.findings else 0


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Report, bool]:
    steward = assemble(transport_of(config), config)
    async with steward.watching():
        in_time = await wait_until_seen(
            steward, arguments.timeout, lambda text: print(f"steward: {text}", file=sys.stderr, flush=True)
        )
        return take(steward.engine), in_time


def _rendered(report: Report, output: str) -> str:
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
    if output == "yaml":
        return msgspec.yaml.encode(report).decode()
    return _text(report)


def _text(report: Report) -> str:
    parts = []
    if report.findings:
        rows = [(f.severity, f.reason, f"{f.subject}", f.since, f.message) for f in report.findings]
        parts.append(table(("SEVERITY", "REASON", "OBJECT", "SINCE", "WHAT"), rows))
    if report.unknown:
        places = [(u.check, u.partition or "everywhere", u.why) for u in report.unknown]
        parts.append("No answer:\n" + table(("CHECK", "WHERE", "WHY"), places))
    found = f"{len(report.findings)} findings" if len(report.findings) != 1 else "1 finding"
    seen = sum(source.synced for source in report.sources)
    parts.append(f"{found}; {seen} of {len(report.sources)} kinds seen.\n")
    return "\n".join(parts)
