"""What `steward reconcile undo` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ...plan.lost import Lost
from ..options import add_writing_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "undo",
        help="take one write back",
        description="Confirms on fresh reads that a write can be taken back, shows what that comes to, asks, and puts "
        "back what a patch changed or deletes what was created. The object is paused. Of what was deleted it says how "
        "to create it again.",
    )
    parser.add_argument("attempt", metavar="ATTEMPT", help="as `steward reconcile ledger` lists it")
    words = ", ".join(Lost)
    parser.add_argument(
        "--accept", action="append", default=[], metavar="LOSS", help=f"give up what would be lost: {words}"
    )
    add_writing_options(parser, findings=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.undo import run as act  # what only this command needs

    return act(arguments)
