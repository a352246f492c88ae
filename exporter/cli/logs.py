"""Logging: to standard error, one line per event, as logfmt or JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

__all__ = ["log_as"]


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class _Stderr(logging.Handler):
    """Writes to the present sys.stderr, which tests replace."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001 # an error of logging must not end the program
            self.handleError(record)


_HANDLER = _Stderr()


def log_as(level: str, form: str = "logfmt") -> None:
    """Sets level and format; may be called again at any time."""
    logfmt = logging.Formatter("level=%(levelname)s logger=%(name)s %(message)s")
    _HANDLER.setFormatter(_Json() if form == "json" else logfmt)
    logging.root.addHandler(_HANDLER)  # a handler that is already there is not added again
    logging.root.setLevel(level.upper())
