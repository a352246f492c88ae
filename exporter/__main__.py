"""`steward`: parses the command line and runs one command."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from .cli.output.text.logs import log_as
from .cli.output.text.terminal import OutputError, complain, say_lines
from .cli.parsing import parsed
from .config.mistakes import MistakesError
from .config.names import LOG_LEVEL, QUIET

log = logging.getLogger(__name__)


def main(words: Sequence[str] | None = None) -> int:
    try:
        code = _run(words)
    except SystemExit as end:  # argparse, after --help or a sentence about a wrong word
        code = end.code if isinstance(end.code, int) else 2
    return _ended(code)


def _run(words: Sequence[str] | None) -> int:
    try:
        arguments = parsed(words)
        log_as(arguments.log_level or (LOG_LEVEL if arguments.logs else QUIET))
        code: int = arguments.run(arguments)
    except MistakesError as error:
        say_lines(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has enough of it
        _let_go(sys.stdout)
        return 141
    except OutputError as error:  # as of a full disk
        _let_go(sys.stdout)
        complain(str(error))
    except Exception as error:  # noqa: BLE001 # 1 means findings: whatever is not expected must not end with it
        complain(_sentence(error))
    else:
        return code
    return 2


def _sentence(error: Exception) -> str:
    """What is wrong, of an error that ended a command."""
    from .kube.errors import KubeError  # only after an error: what it decodes answers with is dear to import

    if isinstance(error, KubeError):
        return str(error)
    log.debug('event="unexpected error"', exc_info=True)
    return f"unexpected {type(error).__name__}: {error}; please report this with what `steward --log-level debug` adds"


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
