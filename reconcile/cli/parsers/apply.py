"""What `steward reconcile apply` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_limit_option, add_writing_options


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "apply",
        help="carry out one plan now, or several of one remediation",
        description="Confirms a finding on fresh reads, shows the plan, asks, and writes with your permissions. With "
        "--remediation and no fingerprint: the first plans of that one, in the order of their causes, until one fails.",
    )
    parser.add_argument("fingerprint", nargs="?", metavar="FINGERPRINT", help="of the finding; its first digits do")
    parser.add_argument("--remediation", metavar="ID", help="which one, where there are several")
    several = parser.add_argument_group("several plans of one remediation")
    where = several.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help="of findings in this namespace")
    where.add_argument("-A", "--all-namespaces", action="store_true", help="of findings anywhere")
    add_limit_option(several, "at most so many plans")
    parser.add_argument("--plan", metavar="HASH", help="only if it is still this plan")
    add_writing_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.apply import run as act  # what only this command needs

    return act(arguments)
