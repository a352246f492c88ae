"""What `steward explain` is called with."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    parser = commands.add_parser("explain", help="what a check looks for, or what a reason means and what to do")
    parser.add_argument("what", metavar="CHECK|REASON", nargs="?", help="without it, all checks and reasons are listed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.explain import run as act  # what only this command needs

    return act(arguments)
