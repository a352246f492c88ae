"""The one way to a terminal: whatever names and texts of others hold, no character of them controls it.

Control characters, escape sequences, characters without a width and those that reverse the direction are shown as `?`.
In JSON they are escaped; YAML, JUnit and SARIF are left to their formats.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

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


# Commands to copy, for the cluster that was asked: with the kubeconfig, context, dump or steward that was given.

_CLIENT = re.compile(r"(?<![\w./-])(kubectl|virtctl)(?= )")
_LOOKS = "check|drain|explain|features|ignore|impact|instancetypes|networks|status|vm"
_REPAIRS = "apply|approve|call-off|pause|plan|remove|resume|undo|unguard"  # `ledger` and `role` ask no cluster
_STEWARD = re.compile(rf"(?<![\w./-])steward (?:{_LOOKS}|reconcile (?:{_REPAIRS}))(?![\w-])")
T = TypeVar("T")


@dataclass(frozen=True)
class Aim:
    """Options, with a space before each: those of `kubectl` too, and all by which the steward looks at the same
    again; empty for none.
    """

    client: str = ""
    steward: str = ""

    def command(self, text: str) -> str:
        """A command, or a text that has some, with the options of each program that is called."""
        text = _CLIENT.sub(lambda found: f"{found[0]}{self.client}", text)
        return _STEWARD.sub(lambda found: f"{found[0]}{self.client}", text)


HERE = Aim()


def aimed(report: T, aim: Aim) -> T:
    """The same report, with the options in each of its `commands`, however deep in it."""
    made: Any = _aimed(report, aim) if aim.client else report
    return made  # type: ignore[no-any-return]


def _aimed(value: Any, aim: Aim) -> Any:
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        new = {name: _aimed(of, aim) for name, of in fields.items()}
        if commands := fields.get("commands"):
            new["commands"] = tuple(map(aim.command, commands))
        return replace(value, **new)
    return type(value)(_aimed(each, aim) for each in value) if isinstance(value, tuple | list) else value
