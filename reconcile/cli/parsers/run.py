"""What `steward reconcile run` is called with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from exporter.cli.options import add_insecure_option


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="the sidecar: plan repairs, and carry out what is approved",
        description="Follows the findings of an exporter, plans repairs, and carries out those whose mode says so. "
        "The configuration file is reloaded when it changes, and on SIGHUP.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML; docs/repairs.md has every key")
    parser.add_argument("--kubeconfig", metavar="FILE", help="default: as of kubectl, else the pod's ServiceAccount")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig; default: the current one")
    add_insecure_option(parser)
    parser.set_defaults(run=run, logs=True)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.run import run as act  # what only this command needs

    return act(arguments)
