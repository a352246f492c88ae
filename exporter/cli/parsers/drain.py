"""What `steward drain` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options, labels

_EXIT = (
    "Exit code: 0 everything leaves by itself; 1 something is blocked, or is shut down by an eviction; "
    "2 could not see everything, something may migrate and may not, a node is not there, or a probe contradicts or is "
    "refused."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "drain",
        help="preview a drain: which VMs leave their nodes, and what is in the way",
        description="Looks once, before or during a drain of all these nodes together. Nothing is evicted or changed.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument("nodes", metavar="NODE", nargs="*", help="to be drained")
    parser.add_argument("--all-cordoned", action="store_true", help="all that are cordoned or tainted to be drained")
    parser.add_argument(
        "--selector", "-l", type=labels, metavar="LABELS", help="all with these labels, such as zone=a,!gpu"
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="ask the API server too, by a dry-run eviction of each VM's pod, two a second: nothing is evicted or "
        "requested, but the ServiceAccount needs permission to create pods/eviction (ClusterRole steward-drain-probe)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.drain import run as act  # what only this command needs

    return act(arguments)
