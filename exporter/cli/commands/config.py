"""`steward config`: whether a configuration is right, and what is in effect."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ...checks import all_checks
from ...config.documents import as_rows, as_yaml
from ...config.keys import CONFIG_VARIABLE
from ...config.loading import Sources, load
from ...config.mistakes import Mistakes
from ..input.cluster import add_cluster_options
from ..input.config import add_config_option, configured, sources_of
from ..input.listen_address import add_insecure_option, add_listen_option
from ..output.table import table
from ..output.terminal import complain, say

__all__ = ["add", "run_check", "run_show"]


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
    file = arguments.file or sources_of(arguments).file
    if file is None:
        complain(f"which file? Name it, or set ${CONFIG_VARIABLE}")
        return 2
    loaded = load(all_checks(), Sources(file, {}, {}))
    say(f"{loaded}\n" if isinstance(loaded, Mistakes) else f"{file} is fine\n")
    return 2 if isinstance(loaded, Mistakes) else 0


def run_show(arguments: argparse.Namespace) -> int:
    loaded = configured(arguments)
    if arguments.output == "yaml":
        say(as_yaml(loaded), "yaml")
    else:
        say(table(("KEY", "VALUE", "FROM"), as_rows(loaded)))
    return 0
