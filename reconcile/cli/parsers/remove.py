"""What `steward reconcile remove` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_writing_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "remove",
        help="take off what repairs left on objects, before an uninstall",
        description="Lists what repairs left on objects for themselves: annotations, guards, and the label of "
        "migrations that are over; asks, and takes it off. Not while a sidecar runs. What repairs mended stays.",
    )
    add_writing_options(parser, findings=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.remove import run as act  # what only this command needs

    return act(arguments)
