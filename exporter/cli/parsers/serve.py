"""What `steward serve` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_cluster_options, add_config_option, add_dump_options, add_insecure_option, add_listen_option


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="watch a cluster, or read a dump; serve metrics, JSON API and page",
        description="Watches a cluster; writes nothing to it. With --from it serves what a dump holds instead, on a "
        "loopback address.",
        epilog="Needs a certificate (tls.certFile and tls.keyFile) or --insecure. The configuration file is reloaded "
        "when it changes, and on SIGHUP.",
    )
    add_config_option(parser)
    add_cluster_options(parser)
    add_dump_options(parser)
    add_listen_option(parser)
    add_insecure_option(parser)
    parser.set_defaults(run=run, logs=True)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.serve import run as act  # what only this command needs

    return act(arguments)
