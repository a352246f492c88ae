"""What `steward explain` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="what a check looks for, what a reason, alert or metric means, or one finding, and what to do",
        description="Explains a check, reason, alert or metric, without a cluster. With the id of a finding or cause "
        "it looks at the cluster, a dump or a running steward, and fills the names in.",
    )
    parser.add_argument(
        "what",
        metavar="CHECK|REASON|ALERT|METRIC|ID",
        nargs="?",
        help="in small letters or capitals; an id as `steward check -o wide` shows it; without it, all checks and "
        "reasons are listed",
    )
    parser.add_argument(
        "--runbook", action="store_true", help="print the part of the runbook that is about it, to follow step by step"
    )
    parser.add_argument(
        "--namespace", "-n", metavar="NS", help="look for the finding in this one, for who may see no other"
    )
    add_look_options(parser, formats=())
    add_exporter_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.explain import run as act  # what only this command needs

    return act(arguments)
