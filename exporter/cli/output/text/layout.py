"""Lines of prose for a terminal, of 80 columns unless it is known: broken between words, and never within a name.

A page of many paragraphs says once how wide all of them are (`as_wide_as`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from ....facts.times import Since
from ....questions.commands import in_parts
from .terminal import one_line

# Columns of text for a terminal.

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


def to_run(commands: Iterable[str], margin: str, prompt: str = "$ ") -> str:
    """Commands to copy, below the head that says whether they change something; before each what it does to a guest."""
    text = ""
    for head, some in in_parts(commands).items():
        text += f"{margin}{head}:\n"
        for each in some:
            text += indented([f"# {' '.join(each.effects)}"] if each.effects else [], margin)
            text += indented([each.text], f"{margin}{prompt}")
    return text


def step(
    following: str, commands: Iterable[str], margin: str, columns: int | None = None, *, referred: Iterable[str] = ()
) -> str:
    """What to do next, what that refers to, and the commands to copy, which are not broken."""
    if not following:
        return ""
    also = "".join(paragraph(each, f"{margin}   ", f"{margin}     ", columns=columns) for each in referred)
    return paragraph(following, f"{margin}=> ", columns=columns) + also + to_run(commands, f"{margin}   ", "")


# Tables of which nothing is left out: a terminal that is too narrow for a row gets it in several lines.
#
# The columns are aligned all the same, each line of a row below that of the row above; the last cell is broken between
# words, below itself.

_LEAST = 24  # characters of a line of the last cell
_MARGIN = 2  # of the further lines of a row
_GAP = 2

Row = Sequence[str]


def grid(head: Row, rows: Sequence[Row], columns: int | None, beneath: Sequence[str] = ()) -> str:
    """`columns` of the terminal, None where it goes elsewhere; `beneath` has for each row the lines that follow it."""
    if columns is None:
        return table(head, rows, beneath)
    whole = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [min(max(len(row[at]) for row in whole), columns // 2) for at in range(len(head) - 1)]
    widths.append(min(max(len(row[-1]) for row in whole), _LEAST))
    lines = tuple(_lines(widths, columns))
    below = ("", *(beneath or [""] * len(rows)))
    return "".join(_row(row, widths, lines, columns) + following for row, following in zip(whole, below, strict=True))


def _lines(widths: Sequence[int], columns: int) -> Iterator[range]:
    """Which cells are in each line of a row: as many as have room, and one at least."""
    begin, used = 0, 0
    for at, size in enumerate(widths):
        if at > begin and used + size > columns:
            yield range(begin, at)
            begin, used = at, _MARGIN
        used += size + _GAP
    yield range(begin, len(widths))


def _row(row: Row, widths: Sequence[int], lines: Sequence[range], columns: int) -> str:
    text = ""
    for at, cells in enumerate(lines):
        if at and all(row[cell] in ("", "-") for cell in cells):
            continue  # what has nothing needs no line
        line = " " * _MARGIN if at else ""
        line += "".join(f"{row[cell].ljust(widths[cell])}{' ' * _GAP}" for cell in cells if cell < len(row) - 1)
        if cells[-1] != len(row) - 1:
            text += f"{line.rstrip()}\n"
            continue
        if len(line) + min(len(row[-1]), _LEAST) > columns and line.strip():  # behind a name that is longer than most
            text, line = f"{text}{line.rstrip()}\n", " " * _MARGIN
        text += paragraph(row[-1], line, columns=columns)
    return text


# How long something has been so, as kubectl writes ages, and no more exactly than it is known.
#
# `3d` where an object says since when; `≥ 2m` where a steward first saw it then; `-` where nothing says: a single look
# saw it for the first time.

# From how many seconds on: the unit, and the smaller one that is added until how many of the larger ones.
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
SEEN = (Since.FIRST_SEEN.value, Since.SOURCE.value)  # what the steward was witness of, and no object says


def age(since: str, source: str, now: float) -> str:
    """`since` is RFC 3339, empty where it is not known; `source` says who says so."""
    if not since:
        return "-"
    seconds = max(0.0, now - datetime.fromisoformat(since).timestamp())
    return f"{'≥ ' if source in SEEN else ''}{duration(seconds)}"


def duration(seconds: float) -> str:
    """As `kubectl get` shows it: 90s, 5m30s, 47m, 5h10m, 30h, 5d3h, 300d, 3y10d."""
    whole = int(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 3 * _HOUR:
        return _two(whole, _MINUTE, "m", 1, "s", 10)
    if whole < 2 * _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "m", 8)
    if whole < 2 * _YEAR:
        return _two(whole, _DAY, "d", _HOUR, "h", 8)
    return _two(whole, _YEAR, "y", _DAY, "d", 8)


def _two(whole: int, large: int, unit: str, small: int, lesser: str, until: int) -> str:
    """The lesser unit is left out from `until` of the larger one on, and where there is none of it."""
    count, rest = divmod(whole, large)
    more = rest // small if count < until else 0
    return f"{count}{unit}{f'{more}{lesser}' if more else ''}"


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


# Commands to copy, for the cluster that was asked: with the kubeconfig, context, dump or steward that was given.

_CLIENT = re.compile(r"(?<![\w./-])(kubectl|virtctl)(?= )")
_LOOKS = "check|drain|explain|features|ignore|impact|instancetypes|networks|status|upgrade|vms?"
_REPAIRS = "apply|approve|clean|pause|plan|resume|undo"  # `ledger` and `role` ask no cluster
_STEWARD = re.compile(rf"(?<![\w./-])steward (?:({_LOOKS})|reconcile (?:{_REPAIRS}))(?![\w-])")


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
        return _STEWARD.sub(lambda found: f"{found[0]}{self.steward if found[1] else self.client}", text)

    def of_cluster(self, text: str) -> tuple[str, ...]:
        """The same of a command that asks a cluster; none where a dump is looked at."""
        return () if " --from " in self.steward else (self.command(text),)


HERE = Aim()


def aimed(report: T, aim: Aim) -> T:
    """The same report, with the options in each of its `commands`, however deep in it."""
    made: Any = _aimed(report, aim) if aim.steward else report
    return made  # type: ignore[no-any-return]


def _aimed(value: Any, aim: Aim) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        new = {name: _aimed(of, aim) for name, of in fields.items()}
        if commands := fields.get("commands"):
            new["commands"] = tuple(map(aim.command, commands))
        return msgspec.structs.replace(value, **new)
    return type(value)(_aimed(each, aim) for each in value) if isinstance(value, tuple | list) else value
