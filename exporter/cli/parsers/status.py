"""What `steward status` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options

_EXIT = "Exit code: 0 nothing found, 1 findings, 2 could not see everything."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "status",
        help="a cluster in a screenful: what can be trusted, the worst causes, drains, repairs that wait",
        description="Looks once, and prints what is to be known first, in at most 24 lines.",
        epilog=_EXIT,
    )
    add_look_options(parser, formats=("table", "json", "yaml"))
    add_exporter_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.status import run as act  # what only this command needs

    return act(arguments)
