"""The command line of `steward` as a whole: its parser, of the parsers of its commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from ..config.names import LOG_LEVEL, LOG_LEVELS
from ..version import installed
from .output.terminal import say, say_lines
from .parsers import all_commands

__all__ = ["parsed", "steward"]

_EXAMPLES = """\
examples:
  steward check                     what is wrong in your cluster, and what to do
  steward check --from dump/        the same of files that `kubectl get -o yaml` wrote
  steward vm NAMESPACE/NAME         one VM whole: where it runs and could go, what it waits for

`steward help COMMAND` says what a command takes."""


class _Parser(argparse.ArgumentParser):
    """Its own would pass over output that can't be written."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            say(message)
        else:
            say_lines(message.rstrip("\n"))


def steward() -> argparse.ArgumentParser:
    """The parser of the whole command line. What it is called with nothing is its help."""
    parser = _Parser(
        prog=_called(),
        description="Sees, explains and alerts on drift in KubeVirt fleets.",
        epilog=_EXAMPLES.replace("steward", _called()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        help=f"of log lines; default: {LOG_LEVEL} for what serves, and none for other commands",
    )
    parser.add_argument("--version", action="version", version=f"steward {installed()}")
    parser.set_defaults(run=_helped, parser=parser, logs=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for add in all_commands():
        add(commands)
    return parser


def _helped(arguments: argparse.Namespace) -> int:
    arguments.parser.print_help()
    return 0


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    """`run` of it runs the command. Raises SystemExit after --help, and after a sentence about a wrong word."""
    return steward().parse_args(words)


def _called() -> str:
    """`kubectl` runs `kubectl-steward` as its own command."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    return "kubectl steward" if name.startswith("kubectl-steward") else "steward"
