"""A command line as completions need it: each command with its options, and what their values may be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

_FILES = ("FILE", "PATH", "[NAME=]PATH", "DIRECTORY", "DIR")  # metavars of what names a file


@dataclass(frozen=True)
class Option:
    """`names` are with their dashes. `choices` are all values that it may have, where these are known; `files` says
    that it names a file. What takes no value is a `flag`.
    """

    names: tuple[str, ...]
    help: str
    flag: bool
    choices: tuple[str, ...] = ()
    files: bool = False


@dataclass(frozen=True)
class Command:
    """`path` is empty for the steward itself. `words` are what may follow: commands, or the values of an argument, each
    with what it is for.
    """

    path: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]

    @property
    def at(self) -> str:
        return " ".join(self.path)


def tree(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = (), top: dict[str, str] | None = None
) -> Iterator[Command]:
    """The command of a parser, then those below it. `top` are those of the steward, which `help` takes."""
    words: dict[str, str] = dict(top or {}) if path == ("help",) else {}
    below: dict[str, argparse.ArgumentParser] = {}
    options = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below |= action.choices
            words |= {each.dest: _plain(each.help) for each in action._choices_actions}
        elif action.option_strings:
            options.append(_option(action))
        elif action.choices:
            words |= {str(each): "" for each in action.choices}
    yield Command(path, tuple(words.items()), tuple(options))
    for name, each in below.items():
        yield from tree(each, (*path, name), words if top is None else top)


def _option(action: argparse.Action) -> Option:
    choices = tuple(str(each) for each in action.choices or ())
    names, flag = tuple(action.option_strings), action.nargs == 0
    return Option(names, _plain(action.help), flag, choices, not choices and action.metavar in _FILES)


def _plain(text: str | None) -> str:
    """The first part of a help text, short enough for a list beside the words."""
    first = " ".join((text or "").partition(";")[0].split()).replace("%%", "%")
    return first if len(first) <= 60 else f"{first[:59].rstrip()}…"
