"""What the commands share that look once, at a cluster or at a dump of one, and print a report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..output.terminal import complain
from .cluster import add_cluster_options
from .config import add_config_option
from .dumps import add_dump_options
from .filters import UsageError

__all__ = ["add_look_options", "complain_if_late", "refuse_complete_without_dump"]


def add_look_options(
    parser: argparse.ArgumentParser,
    *,
    several: bool = False,
    formats: Sequence[str] = ("table", "json", "yaml"),
) -> None:
    """Where to look, for how long, and how to print it. `several` is for a command that takes more than one dump."""
    add_config_option(parser)
    add_cluster_options(parser)
    add_dump_options(parser, several=several)
    parser.add_argument("-o", "--output", choices=formats, default="table", help="default: table")
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="to see a whole cluster; default: 60"
    )


def refuse_complete_without_dump(arguments: argparse.Namespace) -> None:
    """Raises UsageError for --complete without a dump."""
    if not arguments.dump and arguments.complete:
        raise UsageError("--complete says what a dump holds; it needs --from")


def complain_if_late(arguments: argparse.Namespace, in_time: bool) -> None:
    if not in_time:
        complain(f"not everything was seen within {arguments.timeout:.0f} s")


def _seconds(text: str) -> float:
    try:
        given = float(text.removesuffix("s"))
    except ValueError:
        given = 0.0
    if given <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; write it as 60")
    return given
