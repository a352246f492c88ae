"""`steward`: parses the command line and runs one command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .cli import all_commands
from .cli.configured import MistakesError
from .cli.logs import log_as
from .config.settings import Config
from .kube.errors import ConfigError

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="steward", description="Sees, explains and alerts on drift in KubeVirt fleets."
    )
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), help=f"default: {Config().log_level}"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in all_commands():
        add(commands)
    arguments = parser.parse_args(words)
    log_as(arguments.log_level or Config().log_level)
    try:
        code: int = arguments.run(arguments)
    except MistakesError as error:
        print(error, file=sys.stderr)
        return 2
    except ConfigError as error:
        print(f"steward: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough of it; the interpreter must not try to flush the rest at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code


if __name__ == "__main__":
    sys.exit(main())
