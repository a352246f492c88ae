"""`steward reconcile`: its commands, one module each. `reconcile.cli.parsers` declares what each is called with."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from ..parsers import COMMANDS, GONE

__all__ = ["add", "described"]


def add(commands: Any) -> None:
    """Adds `reconcile` to the commands of `steward`, which finds this by its entry point."""
    parser = commands.add_parser(
        "reconcile",
        help="Plan, approve, carry out and undo repairs",
        description="Plans repairs of findings, and carries out what is approved. With the defaults it writes nothing.",
    )
    own = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(run=lambda _: parser.print_help() or 0)
    own.gone = GONE
    for declare in COMMANDS:
        declare(own)


def described(reconcile: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Each command as it is typed, and what it does, of the parser of `reconcile`."""
    for action in reconcile._actions:
        if isinstance(action, argparse._SubParsersAction):
            for parser in action.choices.values():
                words = [_word(each) for each in parser._actions if not each.option_strings]
                yield f"`{' '.join(['steward', *parser.prog.split()[1:], *words])}`", parser.description or ""


def _word(action: argparse.Action) -> str:
    word = str(action.metavar or action.dest)
    return f"[{word}{'…' if action.nargs == '*' else ''}]" if action.nargs in ("?", "*") else word
