"""What `steward ignore` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ...findings.severity import Severity
from ..options import add_exporter_options, add_look_options

_EXIT = "Exit code: 0 done, 2 could not be done, or no such cause."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "ignore",
        help="acknowledge a cause until a date: it is shown as such, and does not alert until then",
        description="Prints the entry of the exporter's configuration that acknowledges a cause, or writes it there. "
        "The cause stays in all lists and says so; it alerts again at its date, and at once when it gets worse. "
        "Nothing is written to a cluster.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "cause",
        metavar="CAUSE",
        nargs="?",
        help="the id of a cause, or of a finding of it, or its first digits; `steward check -o wide` shows them",
    )
    parser.add_argument(
        "--until",
        metavar="DATE",
        help="when it comes back: 2026-12-01 (in UTC), or a time such as 2026-12-01T08:00:00Z",
    )
    parser.add_argument("--because", metavar="TEXT", help="why it may wait, for whoever looks at it")
    parser.add_argument("--by", metavar="NAME", help="who says so")
    parser.add_argument(
        "--severity",
        choices=[each.value for each in Severity],
        help="the worst that is acknowledged; default: what the cause is now",
    )
    parser.add_argument(
        "--write", action="store_true", help="put the entry into the file of --config; its comments stay"
    )
    parser.add_argument("--list", action="store_true", help="list what is acknowledged, and what has come of it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.ignore import run as act  # what only this command needs

    return act(arguments)
