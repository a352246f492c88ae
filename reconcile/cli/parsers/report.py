"""What `steward reconcile report` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_ledger_option, add_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="what was found, approved, written, and what came of it, to attach to a ticket",
        description="Reports from the ledger alone what was found, planned, approved and by whom, written, verified, "
        "what came back, what was undone, which canaries stopped and who resumed them, and what mode shadow would have "
        "written: by remediation and by cause.",
    )
    parser.add_argument(
        "--since",
        default="7d",
        metavar="TIME",
        help="from then on: 7d before the end, or 2026-07-01T18:00:00Z; default: 7d",
    )
    parser.add_argument(
        "--until", default="", metavar="TIME", help="until before then, in the same forms; default: now"
    )
    parser.add_argument(
        "-o", "--output", choices=("table", "md", "html", "json"), help="default: table on a terminal, elsewhere md"
    )
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.report import run as act  # what only this command needs

    return act(arguments)
