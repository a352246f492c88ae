"""Columns of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, the last one as long as it is. Control characters of names and texts are shown as `?`."""
    lines = [tuple(head), *(tuple(map(_printable, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    return "".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) + "\n"
        for line in lines
    )


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
