"""What `steward completion` is called with."""

from __future__ import annotations

import argparse
from typing import Any

_EXAMPLES = """\
bash:  source <(steward completion bash)
zsh:   source <(steward completion zsh)
fish:  steward completion fish | source"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="print completions for bash, zsh or fish",
        description="Prints a script by which a shell completes commands, options and their values.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell reads it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.completion import run as act  # what only this command needs

    return act(arguments)
