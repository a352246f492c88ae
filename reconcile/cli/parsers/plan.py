"""What `steward reconcile plan` is called with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..options import add_ledger_option, add_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "plan",
        help="show what would be done about findings; writes nothing",
        description="Confirms findings on fresh reads and shows the writes that would repair them. Nothing is written.",
    )
    parser.add_argument("fingerprints", nargs="*", metavar="FINGERPRINT", help="of findings, or ids of causes")
    parser.add_argument("--remediation", metavar="ID", help="only plans of this remediation")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="only findings of this namespace")
    parser.add_argument(
        "--dry-run", action="store_true", help="also ask the API server and its webhooks, by a dry run of each write"
    )
    parser.add_argument("--by-cause", action="store_true", help="one row for all that one act would mend")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "wide", "json", "yaml", "diff", "kustomize"),
        default="table",
        metavar="FORMAT",
        help="default: table; wide: one row for each, with what is in its way; json; yaml; diff: what each write does "
        "to its object; kustomize: patches for what is in Git",
    )
    parser.add_argument("--directory", type=Path, metavar="DIR", help="with -o kustomize: write a component there")
    add_ledger_option(parser)
    add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.plan import run as act  # what only this command needs

    return act(arguments)
