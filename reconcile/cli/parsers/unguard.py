"""What `steward reconcile unguard` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ...plan.lost import Lost
from ..options import add_writing_options

_COPY = Lost.COPY.value


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "unguard",
        help="take the guard off instancetypes and preferences",
        description="Confirms on fresh reads that the finalizer of guard_instancetype can be taken off each "
        "instancetype and preference that has it, shows what that comes to, asks, and takes it off. The objects are "
        "paused.",
    )
    parser.add_argument("--all", action="store_true", required=True, help="of all of them, or of those of -n")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="only in this namespace, and none of the cluster")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=(_COPY,),
        metavar="LOSS",
        help=f"{_COPY}: give up what VMs without a copy depend on, where its deletion waits",
    )
    add_writing_options(parser, findings=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.unguard import run as act  # what only this command needs

    return act(arguments)
