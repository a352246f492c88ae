"""Columns of text for a terminal. Control characters of names and texts are shown as `?`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["indented", "table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], beneath: Sequence[str] = ()) -> str:
    """Left-aligned columns, the last one as long as it is. `beneath` has for each row the lines that follow it."""
    lines = [tuple(head), *(tuple(map(_printable, row)) for row in rows)]
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
        text += "".join(f"{each}\n" for each in (prefix + _printable(first), *(margin + _printable(x) for x in more)))
    return text


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
