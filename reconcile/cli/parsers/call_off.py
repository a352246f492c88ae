"""What `steward reconcile call-off` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_writing_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "call-off",
        help="cancel the evacuations of a node that nobody drains any more",
        description="Confirms each evacuation request for a node on fresh reads, shows the plans, asks, and cancels "
        "one after the other with your permissions. It stops if the node is cordoned or tainted again, or a gate is "
        "closed.",
    )
    parser.add_argument("node", metavar="NODE", help="that the requests name; it has to be uncordoned")
    add_writing_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.call_off import run as act  # what only this command needs

    return act(arguments)
