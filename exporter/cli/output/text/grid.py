"""Tables of which nothing is left out: a terminal that is too narrow for a row gets it in several lines.

The columns are aligned all the same, each line of a row below that of the row above; the last cell is broken between
words, below itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .paragraphs import paragraph
from .table import table
from .terminal import one_line

_LEAST = 24  # characters of a line of the last cell
_MARGIN = 2  # of the further lines of a row
_GAP = 2

Row = Sequence[str]


def grid(head: Row, rows: Sequence[Row], columns: int | None, beneath: Sequence[str] = ()) -> str:
    """`columns` of the terminal, None where it goes elsewhere; `beneath` has for each row the lines that follow it."""
    if columns is None:
        return table(head, rows, beneath)
    whole = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [min(max(len(row[at]) for row in whole), columns // 2) for at in range(len(head) - 1)]
    widths.append(min(max(len(row[-1]) for row in whole), _LEAST))
    lines = tuple(_lines(widths, columns))
    below = ("", *(beneath or [""] * len(rows)))
    return "".join(_row(row, widths, lines, columns) + following for row, following in zip(whole, below, strict=True))


def _lines(widths: Sequence[int], columns: int) -> Iterator[range]:
    """Which cells are in each line of a row: as many as have room, and one at least."""
    begin, used = 0, 0
    for at, size in enumerate(widths):
        if at > begin and used + size > columns:
            yield range(begin, at)
            begin, used = at, _MARGIN
        used += size + _GAP
    yield range(begin, len(widths))


def _row(row: Row, widths: Sequence[int], lines: Sequence[range], columns: int) -> str:
    text = ""
    for at, cells in enumerate(lines):
        if at and all(row[cell] in ("", "-") for cell in cells):
            continue  # what has nothing needs no line
        line = " " * _MARGIN if at else ""
        line += "".join(f"{row[cell].ljust(widths[cell])}{' ' * _GAP}" for cell in cells if cell < len(row) - 1)
        if cells[-1] != len(row) - 1:
            text += f"{line.rstrip()}\n"
            continue
        if len(line) + min(len(row[-1]), _LEAST) > columns and line.strip():  # behind a name that is longer than most
            text, line = f"{text}{line.rstrip()}\n", " " * _MARGIN
        text += paragraph(row[-1], line, columns=columns)
    return text
