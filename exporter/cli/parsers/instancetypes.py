"""What `steward instancetypes` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options

_EXIT = "Exit code: 0 all counted, 2 not everything could be seen."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "instancetypes",
        help="who uses which instancetype and preference, and how",
        description="Prints which VMs refer to each instancetype and preference, and how: which of them have a copy, "
        "how far that differs, and which fail without the object.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", default="", help="only those of this name, or NAMESPACE/NAME; default: all"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.instancetypes import run as act  # what only this command needs

    return act(arguments)
