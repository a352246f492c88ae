"""What `steward impact` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options, add_probe_options

_CHANGES = (
    ("disable", "GATE", "with this feature gate switched off, as it takes in the release"),
    ("enable", "GATE", "with this feature gate switched on"),
    ("upgrade-to", "VERSION", "with this version of KubeVirt, such as 1.9; once"),
    ("set", "PATH=VALUE", "with this in spec.configuration of KubeVirt; VALUE is JSON or a text, and null removes"),
)


_EXIT = (
    "Exit code: 0 nothing gets worse, 1 something does, 2 could not see everything, the change can't be "
    "made, or a probe contradicts or is refused."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "impact",
        help="preview a change: which VMs it would break, and when",
        description="Evaluates the checks as if the changes were made, all together, and prints which findings come "
        "and go by them. Nothing is changed.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    group = parser.add_argument_group("changes", "each may be repeated")
    for option, metavar, text in _CHANGES:
        group.add_argument(f"--{option}", metavar=metavar, action="append", default=[], help=text)
    for role in ("instancetype", "preference"):
        group.add_argument(
            f"--delete-{role}",
            metavar="[NAMESPACE/]NAME",
            action="append",
            default=[],
            help=f"without this {role}; NAME alone is one of the whole cluster",
        )
    add_probe_options(parser, "--probe", "that the change concerns, as it is now")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.impact import run as act  # what only this command needs

    return act(arguments)
