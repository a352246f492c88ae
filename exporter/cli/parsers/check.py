"""What `steward check` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ...findings.severity import Severity
from ..options import FORMATS, add_exporter_options, add_filter_options, add_look_options, add_probe_options

_EXIT = (
    "Exit code: 0 nothing found, 1 findings of --fail-on or worse that nobody has acknowledged, 2 no complete answer "
    "to what was asked, or a probe contradicts or is refused."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="look once and print the findings",
        description="Looks once, and prints a line for each cause: what one act would mend. Its findings are under it.",
        epilog=_EXIT,
    )
    add_look_options(parser, several=True, formats=FORMATS)
    add_exporter_options(parser)
    add_filter_options(parser)
    add_probe_options(parser, "--probe-features", "that asks for a feature which is checked at admission")
    parser.add_argument(
        "--commands", action="store_true", help="with what to do about each cause, and the commands for it"
    )
    parser.add_argument(
        "--watch",
        "-w",
        action="store_true",
        help="go on looking, and print what comes, goes, gets worse or better, a line each; Ctrl-C ends it",
    )
    parser.add_argument(
        "--fail-on",
        choices=[each.value for each in Severity],
        default="info",
        help="the least severity of a finding with which the exit code is 1; default: info",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.check import run as act  # what only this command needs

    return act(arguments)
