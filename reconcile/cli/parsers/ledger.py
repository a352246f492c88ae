"""What `steward reconcile ledger` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_ledger_option, add_options


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "ledger",
        help="list what was written, or show one attempt",
        description="Lists the attempts, the newest first; of one it shows all entries, and what brings back an object "
        "that was deleted.",
    )
    parser.add_argument("attempt", nargs="?", metavar="ATTEMPT")
    parser.add_argument(
        "--since", default="", metavar="TIME", help="nothing older: 7d for a week ago, or as in 2026-07-01T18:00:00Z"
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="at most so many; default: 50 attempts, all days and causes"
    )
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument(
        "--daily", action="store_true", help="count by day and remediation, in UTC; default: of the last 14 days"
    )
    shapes.add_argument("--by-cause", action="store_true", help="one row for all that one act would mend")
    parser.add_argument(
        "--shadow", action="store_true", help="what mode shadow left out, and whether its finding is there still"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="prove that no entry was altered or taken out; with --lease or --kubeconfig also that none is missing",
    )
    parser.add_argument("--lease", action="store_true", help="compare with the sidecar's Lease and the cluster, too")
    parser.add_argument(
        "--accept",
        metavar="WORD",
        help="let the sidecar go on with a ledger that its Lease does not fit; its log has the word",
    )
    parser.add_argument(
        "--object", action="store_true", help="print the object as it was before the attempt, to be created again"
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table", help="default: table")
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.ledger import run as act  # what only this command needs

    return act(arguments)
