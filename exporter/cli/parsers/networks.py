"""What `steward networks` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options

_EXIT = "Exit code: 0 all counted, 2 not everything could be seen."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "networks",
        help="state, IP usage and reclaimable addresses of networks",
        description="Prints the state and IP usage of each network, why one is not ready, and the reclaimable "
        "IPAMClaims, the safest first.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument("network", metavar="NETWORK", nargs="?", default="", help="only this network; default: all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.networks import run as act  # what only this command needs

    return act(arguments)
