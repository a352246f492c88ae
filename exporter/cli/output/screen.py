"""Rows for a terminal: as wide as it is, and on one with colours. What is piped is whole, and without escape codes."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence

from .terminal import one_line

__all__ = ["Row", "colours", "cut", "painted", "rows_of", "width"]

Row = Sequence[str]

_PART = 4  # of the terminal is the most that a column is padded to: a longer cell moves what follows it in its row
_COLOURS = {"critical": "1;31", "warning": "33", "info": "36"}
_SEVERITY = re.compile(rf"^({'|'.join(_COLOURS)})\b", re.MULTILINE)


def width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if _terminal() else None


def colours() -> bool:
    """Whether the output may have escape codes: https://no-color.org."""
    return _terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def painted(text: str) -> str:
    """With the severity in colour, where a line begins with one. What names hold stands in no such place."""
    return _SEVERITY.sub(lambda found: f"\x1b[{_COLOURS[found[0]]}m{found[0]}\x1b[0m", text)


def cut(text: str, columns: int | None) -> str:
    """Its beginning, with an ellipsis where it is longer than that; whole without a limit."""
    if columns is None or len(text) <= columns:
        return text
    return f"{text[: columns - 1].rstrip()}…" if columns > 1 else ""


def rows_of(head: Row, rows: Sequence[Row], columns: int | None) -> list[str]:
    """Left-aligned lines, the head first. The last cell is cut to the terminal; what is before it is never cut: it
    has the names.
    """
    whole = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    most = columns // _PART if columns is not None else 10_000
    widths = [max((len(row[at]) for row in whole if len(row[at]) <= most), default=0) for at in range(len(head) - 1)]
    return [_line(row, widths, columns) for row in whole]


def _line(row: Row, widths: Sequence[int], columns: int | None) -> str:
    first = "".join(f"{cell.ljust(size)}  " for cell, size in zip(row, widths, strict=False))
    left = None if columns is None else columns - len(first)
    return (first + cut(row[-1], left)).rstrip()
