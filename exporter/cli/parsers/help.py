"""What `steward help` is called with."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "help", help="say what a command takes", description="Prints the help of the steward, or of one command."
    )
    parser.add_argument("of", metavar="COMMAND", nargs="*", help="such as: reconcile plan")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.help import run as act  # what only this command needs

    return act(arguments)
