"""The options of what looks once, at a cluster or at a dump of one, and prints a report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .cluster import add_cluster_options
from .config import add_config_option
from .dumps import add_dump_options


def add_look_options(
    parser: argparse.ArgumentParser, *, several: bool = False, formats: Sequence[str] = ("table", "json", "yaml")
) -> None:
    """Where to look, for how long, and how to print it, where there are `formats`. `several` is for a command that
    takes more than one dump.
    """
    add_config_option(parser)
    add_cluster_options(parser)
    add_dump_options(parser, several=several)
    if formats:
        how = f"default: table; one of {', '.join(formats)}"
        parser.add_argument("-o", "--output", choices=formats, default="table", metavar="FORMAT", help=how)
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="to see a whole cluster; default: 60"
    )


def _seconds(text: str) -> float:
    try:
        given = float(text.removesuffix("s"))
    except ValueError:
        given = 0.0
    if given <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; write it as 60")
    return given
