"""What `steward reconcile pausing` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ...plan.annotations import PAUSED, RESUMED
from ..options import add_options


def add(commands: Any) -> None:
    for name, text, story in (
        (
            "pause",
            "stop repairs",
            f"Sets annotation {PAUSED} on the Lease, on a Namespace or on an object. It holds over restarts.",
        ),
        (
            "resume",
            "let repairs go on",
            f"Takes annotation {PAUSED} off, and sets {RESUMED}: what was reverted before does not count any more.",
        ),
    ):
        parser = commands.add_parser(
            name, help=f"{text} of everything, of a namespace, or of one object", description=story
        )
        parser.add_argument("kind", nargs="?", metavar="KIND", help="such as VirtualMachine; default: everything")
        parser.add_argument("name", nargs="?", metavar="NAMESPACE/NAME")
        parser.add_argument("-n", "--namespace", metavar="NAME", help="all objects of this namespace")
        if name == "resume":
            parser.add_argument("--remediation", metavar="ID", help="one whose canary stopped, instead of a pause")
        parser.add_argument("--because", default="", metavar="TEXT", help="why, for whoever finds it")
        add_options(parser, findings=False)
        parser.set_defaults(run=run, verb=name)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.pausing import run as act  # what only this command needs

    return act(arguments, arguments.verb)
