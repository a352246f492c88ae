"""What `steward version` is called with."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    parser = commands.add_parser("version", help="print which steward this is", description="Prints the version.")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.version import run as act  # what only this command needs

    return act(arguments)
