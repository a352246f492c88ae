"""What `steward config` is called with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ...config.names import CONFIG_VARIABLE
from ..options import add_cluster_options, add_config_option, add_insecure_option, add_listen_option


def add(commands: Any) -> None:
    parser = commands.add_parser("config", help="check a configuration, or show what is in effect")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    check = actions.add_parser(
        "check",
        help="say whether a file is right",
        description="Looks at the file alone, without environment and flags.",
        epilog="Exit code: 0 it is fine, 2 it has mistakes.",
    )
    check.add_argument("file", type=Path, metavar="FILE", nargs="?", help=f"default: ${CONFIG_VARIABLE}")
    check.set_defaults(run=run_check, config=None)

    show = actions.add_parser(
        "show",
        help="show the values in effect and where each comes from",
        description="Takes the flags of `steward serve`.",
    )
    add_config_option(show)
    add_cluster_options(show)
    add_listen_option(show)
    add_insecure_option(show)
    show.add_argument("-o", "--output", choices=("table", "yaml"), default="table", help="default: table")
    show.set_defaults(run=run_show)


def run_check(arguments: argparse.Namespace) -> int:
    from ..commands.config import run_check as act  # what only this command needs

    return act(arguments)


def run_show(arguments: argparse.Namespace) -> int:
    from ..commands.config import run_show as act  # what only this command needs

    return act(arguments)
