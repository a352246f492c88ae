"""The one way to a terminal. Whatever names and texts of others hold, no character of them controls it.

Control characters, escape sequences, characters without a width and those that reverse the direction are shown as `?`.
What is not text for people but for programs is written as it is: its format escapes.
"""

from __future__ import annotations

import sys

__all__ = ["complain", "one_line", "programs", "say"]

_LONGEST = 4000  # characters of one text; that of a finding is far shorter


def say(text: str) -> None:
    """Writes lines to standard output."""
    sys.stdout.write(_safe(text))


def programs(text: str) -> None:
    """Writes what another program reads to standard output."""
    sys.stdout.write(text)


def complain(text: str) -> None:
    """Writes lines to standard error."""
    sys.stderr.write(_safe(text) + "\n")
    sys.stderr.flush()


def one_line(text: str, longest: int = _LONGEST) -> str:
    """A name or text as a part of a line, with an ellipsis where it is longer than that."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


def _safe(text: str) -> str:
    """The line breaks are ours; `one_line` took those of others."""
    return text if text.replace("\n", "").isprintable() else "\n".join(map(_unchanged, text.split("\n")))


def _unchanged(line: str) -> str:
    return one_line(line, len(line))
