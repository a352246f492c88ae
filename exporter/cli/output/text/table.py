"""Columns of text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .terminal import one_line

_WIDEST = 320  # characters of a cell but the last; a namespace and a name have 317


def table(head: Sequence[str], rows: Sequence[Sequence[str]], beneath: Sequence[str] = ()) -> str:
    """Left-aligned columns, the last one as long as it is. `beneath` has for each row the lines that follow it."""
    lines = [tuple(head), *((*(one_line(cell, _WIDEST) for cell in row[:-1]), one_line(row[-1])) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    shown = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) + "\n"
        for line in lines
    ]
    return "".join(each for pair in zip(shown, ("", *(beneath or [""] * len(rows))), strict=True) for each in pair)


def indented(commands: Iterable[str], prefix: str) -> str:
    """Commands to copy, one after the other; a here-document stays at the margin, since its end must stand there."""
    text = ""
    for command in commands:
        first, *more = command.split("\n")
        margin = "" if "<<" in first else " " * len(prefix)
        text += "".join(f"{each}\n" for each in (prefix + one_line(first), *(margin + one_line(x) for x in more)))
    return text
