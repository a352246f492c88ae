"""`steward`: parses the command line and runs one command."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from .cli import check, demo, explain, serve
from .kube.errors import ConfigError

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="steward", description="Sees, explains and alerts on drift in KubeVirt fleets."
    )
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="warning", help="default: warning"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (serve, check, explain, demo):
        command.add(commands)
    arguments = parser.parse_args(words)
    logging.basicConfig(
        level=arguments.log_level.upper(), format="level=%(levelname)s logger=%(name)s %(message)s", stream=sys.stderr
    )
    try:
        code: int = arguments.run(arguments)
    except ConfigError as error:
        print(f"steward: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
