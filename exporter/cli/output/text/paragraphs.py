"""Lines of prose for a terminal, of 80 columns unless it is known: broken between words, and never within a name.

A page of many paragraphs says once how wide all of them are (`as_wide_as`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .table import indented
from .terminal import one_line

WIDTH = 80
_width: ContextVar[int] = ContextVar("columns", default=WIDTH)


@contextmanager
def as_wide_as(columns: int) -> Iterator[None]:
    """What is made within, and says no width of its own, has so many columns."""
    before = _width.set(columns)
    try:
        yield
    finally:
        _width.reset(before)


def paragraph(text: str, first: str = "", rest: str = "", columns: int | None = None) -> str:
    """`first` is what its first line begins with, `rest` what the others do, by default as much space."""
    lines = textwrap.wrap(
        one_line(text),
        max(columns or _width.get(), len(first) + 1, len(rest) + 1),
        initial_indent=first,
        subsequent_indent=rest or " " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in lines or [first])


def sentence(text: str, first: str, columns: int | None) -> str:
    """A paragraph on a terminal of so many columns, a line elsewhere."""
    return f"{first}{one_line(text)}\n" if columns is None else paragraph(text, first, columns=columns)


def step(following: str, commands: Iterable[str], margin: str, columns: int | None = None) -> str:
    """What to do next, and the commands to copy, which are not broken."""
    if not following:
        return ""
    return paragraph(following, f"{margin}=> ", columns=columns) + indented(commands, f"{margin}   ")
