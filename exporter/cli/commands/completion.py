"""`steward completion`: what a shell completes commands by."""

from __future__ import annotations

import argparse

from ..output.completion import completion
from ..output.text.terminal import say


def run(arguments: argparse.Namespace) -> int:
    """`arguments.parser` is that of the whole command line."""
    say(completion(arguments.shell, arguments.parser))
    return 0
