"""Rows for a terminal: as wide as it is, and on one with colours. What is piped is whole, and without escape codes."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from itertools import accumulate

from .layout import WIDTH
from .terminal import one_line

Row = Sequence[str]

_WIDEST_PROSE = 120
_LEAST = 12  # characters that a last cell is cut to beside the others; with less it begins a line
_PART = 4  # of the terminal is at least the last column's
_NARROW = 16  # a terminal that has columns for no longer cells has none at all
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
    """A text for each row, the head first, with left-aligned columns. The last cell is cut to the terminal. What is
    before it is never cut, since it has the names: what follows a cell that is wider than its column stands in the next
    line.
    """
    whole = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = _widths(whole, columns)
    if widths is None and columns is not None:
        margin = min(max(len(row[0]) for row in whole), columns // _PART) + 2
        return [_folded(row, margin, columns) for row in whole]
    starts = list(accumulate((width + 2 for width in widths or ()), initial=0))
    return [_aligned(row, starts, columns) for row in whole]


def _widths(rows: Sequence[Row], columns: int | None) -> list[int] | None:
    """Of all columns but the last: as many cells fit as leave the last its part of the terminal. None where that is too
    narrow for columns.
    """
    lengths = [[len(row[at]) for row in rows] for at in range(len(rows[0]) - 1)]
    if columns is None:
        return [max(each) for each in lengths]
    room = columns - columns // _PART - 2 * len(lengths)
    for most in sorted({length for each in lengths for length in each if length}, reverse=True):
        widths = [max((length for length in each if length <= most), default=0) for each in lengths]
        if sum(widths) <= room:
            return widths if most >= _NARROW or most == max(map(max, lengths)) else None
    return None


def _aligned(row: Row, starts: Sequence[int], columns: int | None) -> str:
    lines = [""]
    for cell, start in zip(row, starts, strict=True):
        fits = columns is None or start + len(cell) <= columns
        at = start if fits or start == starts[-1] else min(start, starts[1])
        if lines[-1] and (len(lines[-1]) > at - 2 or at < start):
            lines.append("")
        left = None if columns is None or start != starts[-1] else columns - at
        lines[-1] = f"{lines[-1].ljust(at)}{cut(cell, left)}"
    return "\n".join(line.rstrip() for line in lines)


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
