"""The command line of `steward` as a whole: its parser, of the parsers of its commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ..config.names import LOG_LEVEL, LOG_LEVELS
from ..version import installed
from .options import subcommands
from .output.text.terminal import say, say_lines
from .parsers import all_commands

GROUPS = {
    "inspect a cluster": ("status", "check", "vm", "vms", "networks", "features", "instancetypes", "explain"),
    "preview a change": ("drain", "upgrade", "impact", "diff"),
    "act": ("reconcile", "ignore"),
    "run and set up": ("serve", "rules", "config", "certificate", "demo", "completion", "help", "version"),
}
"""The commands by what they are for, as the help lists them."""

_EXAMPLES = """\
examples:
  steward check                List findings in the current cluster
  steward check --from dump/   List findings in a dump
  steward vm NAMESPACE/NAME    Show where a VM can run, and why not

Run `steward help COMMAND` for details."""


class _Parser(argparse.ArgumentParser):
    """Its own would pass over output that can't be written, and print how a command is used for each wrong word."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how, add_help=False)
        self.add_argument("-h", "--help", action="help", help="Show help")

    def error(self, message: str) -> NoReturn:
        more = "" if message.endswith("?") else f"; {_help_of(self)} says what it takes"
        self.exit(2, f"{self.prog}: {message}{more}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            if instead := getattr(action, "gone", {}).get(value):
                raise argparse.ArgumentError(None, f"{value} is gone: `{self.prog} {instead}` has taken its place")
            from ..config.mistakes import nearest  # only for a wrong word

            close = nearest(value, action.choices)
            meant = f"; did you mean {close}?" if close else ""
            raise argparse.ArgumentError(None, f"no command is called {value[:100]!r}{meant}")
        super()._check_value(action, value)

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            say(message)
        else:
            say_lines(message.rstrip("\n"))


class _Steward(_Parser):
    """Its help has the commands by what they are for."""

    def format_help(self) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        (commands,) = (each for each in self._actions if isinstance(each, argparse._SubParsersAction))
        helped = {each.dest: each for each in commands._get_subactions()}
        grouped = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in helped if name not in grouped)  # of other packages
        for title, names in {**GROUPS, **({"others": others} if others else {})}.items():
            formatter.start_section(title)
            formatter.add_arguments(helped[name] for name in names if name in helped)
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(self._optionals._group_actions)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def steward() -> argparse.ArgumentParser:
    """The parser of the whole command line. What it is called with nothing is its help."""
    parser = _Steward(
        prog=_called(),
        description="Detects, explains and repairs configuration drift in KubeVirt clusters.",
        epilog=_EXAMPLES.replace("steward", _called()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        help=f"Level of log lines (default {LOG_LEVEL} for serve and reconcile run, off otherwise)",
    )
    parser.add_argument("--version", action="version", version=f"steward {installed()}", help="Print the version")
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
    parser = steward()
    arguments, left = parser.parse_known_args(words)
    if left:
        of = _command_of(parser, sys.argv[1:] if words is None else words)
        of.error(_surplus(left[0], of))
    return arguments


def _command_of(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the words name."""
    for word in words:
        below = subcommands(parser)
        parser = below.get(word, parser)
    return parser


def _surplus(word: str, of: argparse.ArgumentParser) -> str:
    """What is wrong with a word that nothing takes."""
    option = word.partition("=")[0]
    if not option.startswith("-"):
        return f"{word[:100]!r} is a word too many"
    from ..config.mistakes import nearest  # only for a wrong word

    close = nearest(option, [name for action in of._actions for name in action.option_strings])
    return f"no option is called {option[:100]}{f'; did you mean {close}?' if close else ''}"


def _help_of(parser: argparse.ArgumentParser) -> str:
    called = _called()
    return f"`{' '.join([called, 'help', *parser.prog.removeprefix(called).split()])}`"


def _called() -> str:
    """`kubectl` runs `kubectl-steward` as its own command."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    return "kubectl steward" if name.startswith("kubectl-steward") else "steward"
