"""What `steward reconcile apply` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_ledger_option, add_options

__all__ = ["add"]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "apply",
        help="carry out one plan now",
        description="Confirms a finding on fresh reads, shows the plan, asks, and writes with your permissions.",
    )
    parser.add_argument("fingerprint", metavar="FINGERPRINT", help="of the finding; its first digits are enough")
    parser.add_argument("--remediation", metavar="ID", help="which one, where there are several")
    parser.add_argument("--plan", metavar="HASH", help="only if it is still this plan")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_ledger_option(parser)
    add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.apply import run as act  # what only this command needs

    return act(arguments)
