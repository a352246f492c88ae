"""What `steward check` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options.edit_probes import add_probe_options
from ..options.filters import add_filter_options
from ..options.look import add_look_options
from ..output.formats import FORMATS

__all__ = ["add"]


_EXIT = "Exit code: 0 nothing found, 1 findings, 2 could not see everything, or a probe contradicts or is refused."


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check", help="look once and print the findings", description="Looks once.", epilog=_EXIT
    )
    add_look_options(parser, several=True, formats=FORMATS)
    add_filter_options(parser)
    add_probe_options(parser, "--probe-features", "that asks for a feature which is checked at admission")
    parser.add_argument("--no-commands", action="store_true", help="the table without the commands of each finding")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.check import run as act  # what only this command needs

    return act(arguments)
