"""`steward`: parses the command line and runs one command."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from .cli.commands import all_commands
from .cli.input.config import MistakesError
from .cli.output.logs import log_as
from .cli.output.terminal import OutputError, complain, say, say_lines
from .config.settings import Config
from .kube.errors import ConfigError
from .version import installed

__all__ = ["main"]

log = logging.getLogger(__name__)


class _Parser(argparse.ArgumentParser):
    """Its own would pass over output that can't be written."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            say(message)
        else:
            say_lines(message.rstrip("\n"))


def main(words: Sequence[str] | None = None) -> int:
    try:
        code = _run(words)
    except SystemExit as end:  # argparse, after --help or a sentence about a wrong word
        code = end.code if isinstance(end.code, int) else 2
    return _ended(code)


def _run(words: Sequence[str] | None) -> int:
    try:
        arguments = _parsed(words)
        log_as(arguments.log_level or Config().log_level)
        code: int = arguments.run(arguments)
    except MistakesError as error:
        say_lines(str(error))
    except ConfigError as error:
        complain(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has enough of it
        _let_go(sys.stdout)
        return 141
    except OutputError as error:  # as of a full disk
        _let_go(sys.stdout)
        complain(str(error))
    except Exception as error:  # 1 means findings: whatever is not expected must not end with it
        log.debug('event="unexpected error"', exc_info=True)
        complain(
            f"unexpected {type(error).__name__}: {error}; please report this with what `steward --log-level debug` adds"
        )
    else:
        return code
    return 2


def _parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="steward", description="Sees, explains and alerts on drift in KubeVirt fleets.")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), help=f"default: {Config().log_level}"
    )
    parser.add_argument("--version", action="version", version=f"steward {installed()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in all_commands():
        add(commands)
    return parser.parse_args(words)


def _ended(code: int) -> int:
    """The exit code, with nothing left that the interpreter would try in vain to write at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _let_go(stream)
            code = code or (2 if stream is sys.stdout else 0)
    return code


def _let_go(stream: IO[str] | None) -> None:
    """What could not be written is not tried again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


if __name__ == "__main__":
    sys.exit(main())
