"""The one way to a terminal: whatever names and texts of others hold, no character of them controls it.

Control characters, escape sequences, characters without a width and those that reverse the direction are shown as `?`.
In JSON they are escaped; YAML and SARIF are left to their formats.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

from ....facts.naming import is_seen, json_written_out
from . import logs

TEXTS = ("table", "wide", "name")  # the formats for a terminal; the others are whole, and in UTF-8
_LONGEST = 4000  # characters of one text; that of a finding is far shorter


class OutputError(Exception):
    """Standard output takes no more. Its text is one sentence."""


def say(text: str, output: str = "table", paint: Callable[[str], str] = str) -> None:
    """Writes a whole answer to standard output: as text for people, or as one of the formats of programs.

    The formats are UTF-8 whatever the locale is; in a table, what its encoding lacks is shown as `?`. `paint`
    adds colours, once no character of others can be an escape code. Raises BrokenPipeError and OutputError.
    """
    if sys.stdout is None:
        raise OutputError("the output can't be written: standard output is closed")
    if output in ("json", "sarif"):
        text = json_written_out(text)
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding=None if output in TEXTS else "utf-8", errors="replace")
        sys.stdout.write(paint(_safe(text)) if output in TEXTS else text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output can't be written: {error.strerror or error}") from error


def complain(text: str) -> None:
    """Writes one line to standard error."""
    say_lines(f"steward: {one_line(text)}")


def say_lines(text: str) -> None:
    """Writes lines to standard error."""
    logs.say(_safe(text))


def one_line(text: str, longest: int = _LONGEST) -> str:
    """A name or text as a part of a line, with an ellipsis where it is longer than that."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each.isprintable() and is_seen(each) else "?" for each in text)


def _safe(text: str) -> str:
    """The line breaks are ours: `one_line` replaced those of others."""
    return "\n".join(one_line(line, len(line)) for line in text.split("\n"))
