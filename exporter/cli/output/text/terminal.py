"""The one way to a terminal: whatever names and texts of others hold, no character of them controls it.

Control characters, escape sequences, characters without a width and those that reverse the direction are shown as `?`.
In JSON they are escaped; YAML, JUnit and SARIF are left to their formats.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import msgspec

from ....facts.naming import is_seen, json_written_out
from ....offline.source import Progress, Tally
from . import logs

# The formats in which `steward check` prints what it finds.

FORMATS = ("table", "wide", "name", "json", "yaml", "csv", "html", "junit", "sarif")
TEXTS = ("table", "wide", "name")  # for a terminal; the others are whole, and in UTF-8


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


# The progress of reading a dump, as one line on a terminal; nothing without a terminal.

_EVERY = 0.1  # seconds between two updates


@contextmanager
def progress_line(of: str = "") -> Iterator[Progress]:
    """The line disappears when the block ends. `of` is the name of the dump's cluster."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    shown_at = 0.0

    def show(tally: Tally) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= _EVERY:
            shown_at = time.monotonic()
            _write(f"\r\x1b[Kreading{f' {one_line(of)}' if of else ''}: {tally}")

    try:
        yield show
    finally:
        _write("\r\x1b[K")


def _write(text: str) -> None:
    """A terminal that is gone ends nothing."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


# A report as a command writes it: as text for people, or whole as JSON or YAML.

T = TypeVar("T")


def written(report: T, output: str, text: Callable[[T], str]) -> str:
    """`output` is json or yaml; any other is the text."""
    if output == "json":
        return json_of(report)
    return yaml_of(report) if output == "yaml" else text(report)


def json_of(report: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def yaml_of(report: Any) -> str:
    return msgspec.yaml.encode(report).decode()
