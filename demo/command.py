"""`steward demo`: a sample fleet to look at, without a cluster.

An API server in this process serves it over HTTP, and the steward reads it as it reads a cluster. The exporter finds
this command by its entry point, and has none where the package is not installed, as in the image.
"""

from __future__ import annotations

import argparse
from typing import Any

from exporter.cli.options import add_listen_option


def add(commands: Any) -> None:
    parser = commands.add_parser("demo", help="Run a sample fleet without a cluster")
    add_listen_option(parser)
    parser.add_argument(
        "--pace", type=float, default=10.0, metavar="SECONDS", help="Seconds between two changes (default 10)"
    )
    parser.set_defaults(run=run, logs=True)


def run(arguments: argparse.Namespace) -> int:
    from .showing import run as act  # what only this command needs

    return act(arguments)
