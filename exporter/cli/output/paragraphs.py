"""Lines of prose for a terminal, of 80 columns unless it is known: broken between words, and never within a name."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from .table import indented
from .terminal import one_line

__all__ = ["WIDTH", "paragraph", "step"]

WIDTH = 80


def paragraph(text: str, first: str = "", rest: str = "", columns: int = WIDTH) -> str:
    """`first` is what its first line begins with, `rest` what the others do, by default as much space."""
    lines = textwrap.wrap(
        one_line(text),
        max(columns, len(first) + 1, len(rest) + 1),
        initial_indent=first,
        subsequent_indent=rest or " " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in lines or [first])


def step(following: str, commands: Iterable[str], margin: str, columns: int = WIDTH) -> str:
    """What to do next, and the commands to copy, which are not broken."""
    if not following:
        return ""
    return paragraph(following, f"{margin}=> ", columns=columns) + indented(commands, f"{margin}   ")
