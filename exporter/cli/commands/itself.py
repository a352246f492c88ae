"""`steward help`, `steward version` and `steward completion`: what the command line says of itself."""

from __future__ import annotations

import argparse

from ...config.mistakes import nearest
from ...version import installed
from ..options import subcommands
from ..output.text.terminal import complain, say


def version(_: argparse.Namespace) -> int:
    say(f"steward {installed()}\n")
    return 0


def completion(arguments: argparse.Namespace) -> int:
    """`arguments.parser` is that of the whole command line."""
    from ..output.completion import completion as made  # only where a shell asks

    say(made(arguments.shell, arguments.parser))
    return 0


def help_of(arguments: argparse.Namespace) -> int:
    """`arguments.parser` is that of the whole command line."""
    parser: argparse.ArgumentParser = arguments.parser
    path: list[str] = []
    for word in arguments.of:
        below = subcommands(parser)
        if word not in below:
            close = nearest(word, below)
            lists = f"`{' '.join(['steward', *path])} --help` lists those that there are"
            hint = f"did you mean {' '.join([*path, close])}?" if close else lists
            complain(f"no command is called {' '.join([*path, word])!r}; {hint}")
            return 2
        parser, path = below[word], [*path, word]
    parser.print_help()
    return 0
