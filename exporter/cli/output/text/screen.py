"""Rows for a terminal: as wide as it is, and on one with colours. What is piped is whole, and without escape codes."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence

from .paragraphs import WIDTH
from .terminal import one_line

__all__ = ["Row", "colours", "cut", "painted", "prose_width", "rows_of", "width"]

Row = Sequence[str]

_WIDEST_PROSE = 120
_LEAST = 12  # characters that a last cell is cut to beside the others; with less it begins a line
_PART = 4  # of the terminal is the most that a column is padded to: a longer cell moves what follows it in its row
_COLOURS = {"critical": "1;31", "warning": "33", "info": "36"}
_SEVERITY = re.compile(rf"^({'|'.join(_COLOURS)})\b", re.MULTILINE)


def width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if _terminal() else None


def prose_width() -> int:
    """Columns for sentences: of the terminal, as far as they are read with ease; 80 where the output goes elsewhere."""
    return min(width() or WIDTH, _WIDEST_PROSE)


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
    """A text for each row, the head first: its left-aligned cells in a line, or in several where one has no room for
    them. The last cell is cut to the terminal; what is before it is never cut: it has the names.
    """
    whole = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    most = columns // _PART if columns is not None else 10_000
    widths = [max((len(row[at]) for row in whole if len(row[at]) <= most), default=0) for at in range(len(head) - 1)]
    return [_line(row, widths, columns) for row in whole]


def _line(row: Row, widths: Sequence[int], columns: int | None) -> str:
    first = "".join(f"{cell.ljust(size)}  " for cell, size in zip(row, widths, strict=False))
    if columns is None or len(first) + min(len(row[-1]), _LEAST) <= columns:
        return (first + cut(row[-1], None if columns is None else columns - len(first))).rstrip()
    return _folded(row, widths[0] + 2, columns)


def _folded(row: Row, margin: int, columns: int) -> str:
    """Each line as full as whole cells make it; those after the first are indented."""
    lines = [row[0]]
    for cell in row[1:-1]:
        if len(lines[-1]) + 2 + len(cell) <= columns:
            lines[-1] = f"{lines[-1].ljust(margin - 2) if len(lines) == 1 else lines[-1]}  {cell}"
        else:
            lines.append(" " * margin + cell)
    if len(lines[-1]) + 2 + min(len(row[-1]), _LEAST) > columns:
        lines.append(" " * (margin - 2))
    left = columns - len(lines[-1]) - 2
    return "\n".join([*lines[:-1], f"{lines[-1]}  {cut(row[-1], left)}".rstrip()])
