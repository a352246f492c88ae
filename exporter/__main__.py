"""`steward`: parses the command line and runs one command."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from .cli import all_commands
from .cli.configured import MistakesError
from .cli.logs import log_as
from .cli.terminal import OutputError, complain, say_lines
from .config.settings import Config
from .kube.errors import ConfigError

__all__ = ["main"]

log = logging.getLogger(__name__)


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
        say_lines(str(error))
    except ConfigError as error:
        complain(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has enough of it
        _let_go()
        return 141
    except OutputError as error:  # as of a full disk
        _let_go()
        complain(str(error))
    except Exception as error:  # 1 means findings: whatever is not expected must not end with it
        log.debug('event="unexpected error"', exc_info=True)
        complain(
            f"unexpected {type(error).__name__}: {error}; please report this with what `steward --log-level debug` adds"
        )
    else:
        return code
    return 2


def _let_go() -> None:
    """The interpreter must not try to write the rest at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
