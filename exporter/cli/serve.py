"""`steward serve`: watches a cluster and serves metrics, API and page."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from ..app import assemble, serve
from .cluster import add_cluster_options, transport_of
from .listening import add_listen_option, run_until_signalled

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="watch a cluster; serve metrics, JSON API and page",
        description="Watches a cluster and writes nothing.",
    )
    add_cluster_options(parser)
    add_listen_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return run_until_signalled(_serve(arguments))


async def _serve(arguments: argparse.Namespace) -> int:
    host, port = arguments.listen
    async with serve(assemble(transport_of(arguments)), host, port) as url:
        print(f"Serving {url}/ and {url}/metrics", file=sys.stderr, flush=True)
        await asyncio.Event().wait()
    return 0
