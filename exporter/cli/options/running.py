"""The options by which a command asks a steward that runs, and lists nothing itself."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_exporter_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a running steward, instead of a cluster")
    group.add_argument(
        "--exporter", metavar="URL", help="take the answer from this one, such as https://localhost:9877"
    )
    for option, what in (
        (
            "--token-file",
            "file with its bearer token, as `kubectl create token` prints one; default: the kubeconfig's, over https",
        ),
        ("--ca-file", "CA certificates to trust for it; default: the system's, and the kubeconfig's"),
    ):
        group.add_argument(option, type=Path, metavar="FILE", help=what)
    group.add_argument("--server-name", metavar="NAME", help="of its certificate; default: the URL's host")
