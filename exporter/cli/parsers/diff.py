"""What `steward diff` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_config_option

_EXIT = "Exit code: 0 no differences, 1 differences, 2 of some findings nobody can tell."
_OF = "a dump, as `steward check --from` takes it, or a report that `steward check -o json` wrote"


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "diff",
        help="what came, went, became better or worse between two dumps or reports",
        description="Compares what is found in two dumps or reports of one cluster, the earlier one first.",
        epilog=_EXIT,
    )
    add_config_option(parser)
    parser.add_argument("before", metavar="PATH", help=_OF)
    parser.add_argument("after", metavar="PATH", help="the later one")
    parser.add_argument(
        "--complete",
        action="store_true",
        help="the dumps hold the whole cluster: a kind that is not in them has no objects",
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table", help="default: table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.diff import run as act  # what only this command needs

    return act(arguments)
