"""`steward help`: what the steward, or one of its commands, takes."""

from __future__ import annotations

import argparse

from ...config.mistakes import nearest
from ..options import subcommands
from ..output.text.terminal import complain


def run(arguments: argparse.Namespace) -> int:
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
