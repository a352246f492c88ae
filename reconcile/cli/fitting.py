"""Texts as wide as the terminal, and nothing cut off them: what has no room is broken between words. Where they go
elsewhere they are whole, a line each.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.layout import paragraph
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import one_line

_LABELLED = re.compile(r"  (?!run )[a-z]+ +(?=\S)")  # a command that is to be copied stays in one line
_COMMAND = re.compile(r"(?:steward reconcile|kubectl) [a-z-](?:[^;,`\n]*[^;,`\n\s.])?")
_JOINT = "\u2423"  # in place of a space of a command
_MARGIN = 4


def readable(text: str, arguments: argparse.Namespace) -> str:
    """A text with its commands for the cluster that was asked, as wide as the terminal."""
    return fitted(aim_of(arguments).command(text), width())


def fitted(text: str, columns: int | None) -> str:
    """Sentences, and rows of a label and a sentence, are broken; manifests, differences and commands are not."""
    if columns is None:
        return text
    return "".join(_fitted(line, columns) for line in text.splitlines())


def indented(text: str, columns: int | None) -> str:
    """A row of a list under its title."""
    return f"  {text}\n" if columns is None else _broken(text, "  ", "      ", columns)


def _fitted(line: str, columns: int) -> str:
    label = _LABELLED.match(line)
    if len(line) <= columns or (line[0] == " " and label is None):
        return f"{line}\n"
    if label is None:
        return _broken(line, "", "  ", columns)
    return _broken(line[label.end() :], label[0], " " * label.end(), columns)


def rows_whole(head: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None) -> str:
    """Left-aligned columns. Where a row is wider than the terminal, as many of its cells as every row has room for
    stand beside each other, and the others under them.
    """
    whole = [tuple(head), *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(len(row[at]) for row in whole) for at in range(len(head))]
    beside = len(head) if columns is None else max(1, sum(end <= columns for end in _ends(widths)))
    return "".join(_row(row, widths, min(beside, len(head) - 1), columns) for row in whole)


def _ends(widths: Sequence[int]) -> Iterator[int]:
    """Where each column ends."""
    end = -2
    for size in widths:
        end += 2 + size
        yield end


def _row(row: Sequence[str], widths: Sequence[int], beside: int, columns: int | None) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    line = "  ".join((*padded[:-1], row[-1])).rstrip()
    if columns is None or len(line) <= columns:
        return f"{line}\n"
    margin, under = " " * _MARGIN, "  ".join(cell for cell in row[beside:] if cell)
    return f"{'  '.join(padded[:beside]).rstrip()}\n{_broken(under, margin, margin, columns)}"


def _broken(text: str, first: str, rest: str, columns: int) -> str:
    """Between words, and not within a command."""
    joined = _COMMAND.sub(lambda found: found[0].replace(" ", _JOINT), text)
    return paragraph(joined, first, rest, columns).replace(_JOINT, " ")
