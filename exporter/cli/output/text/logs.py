"""Logging: to standard error, one line per event, as logfmt or JSON.

What a line is filled in with may come from anybody: an API server, a tenant's object, a file. `safe` keeps it within
its quotes and its line. A line that can't be written, as to a full disk, is lost, and nothing else.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

_VALUE = 2_000  # characters of one value
_TRACE = 16_000  # and of a traceback
_OURS = (__name__.partition(".")[0], "reconcile")  # packages whose messages are key="value" already
_ESCAPED = re.compile(r'[^ -~]|["\\]')


def safe(text: str, longest: int = _VALUE) -> str:
    """A text as it may stand within quotes in a log line: printable, with escapes, and cut if it is longer."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    return _ESCAPED.sub(_escape, cut)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in ('"', "\\"):
        return "\\" + character
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def say(line: str) -> None:
    """Writes a line to standard error; it is lost if standard error is closed or its disk is full."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def _filled(record: logging.LogRecord) -> str:
    """The message of one of our records: its text is ours, what it is filled in with is not."""
    args = record.args
    if not args:
        return record.msg if isinstance(record.msg, str) else str(record.msg)
    if isinstance(args, Mapping):
        return str(record.msg) % {name: _argument(value) for name, value in args.items()}
    return str(record.msg) % tuple(_argument(value) for value in args)


def _argument(value: object) -> object:
    return value if isinstance(value, int | float) else safe(str(value))


def _ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in _OURS


class _Formatter(logging.Formatter):
    def trace(self, record: logging.LogRecord) -> str:
        """The end of the traceback; empty without one."""
        return self.formatException(record.exc_info)[-_TRACE:] if record.exc_info else ""


class _Logfmt(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        message = _filled(record) if _ours(record) else f'message="{safe(record.getMessage())}"'
        trace = self.trace(record)
        exception = f' exception="{safe(trace, _TRACE)}"' if trace else ""
        return f"level={record.levelname} logger={record.name} {message}{exception}"


class _Json(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _filled(record) if _ours(record) else record.getMessage()[:_VALUE],
        }
        if trace := self.trace(record):
            line["exception"] = trace
        return json.dumps(line)  # ASCII: what is not printable is escaped


class _Stderr(logging.Handler):
    """Writes to the present sys.stderr, which tests replace."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 # an error of logging must not end the program
            line = f'level=ERROR logger={__name__} event="log line lost" of={record.name} why="{type(error).__name__}"'
        say(line)


_HANDLER = _Stderr()


def log_as(level: str, form: str = "logfmt") -> None:
    """Sets level and format; may be called again at any time."""
    _HANDLER.setFormatter(_Json() if form == "json" else _Logfmt())
    logging.root.addHandler(_HANDLER)  # a handler that is already there is not added again
    logging.root.setLevel(level.upper())
