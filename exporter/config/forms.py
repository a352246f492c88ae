"""The forms that a value can have: how it is written, what is wrong with one, and what editors are reported of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from ..checks.base import Setting
from .mistakes import nearest, quoted
from .reader import scalar

__all__ = ["Form", "address", "form_of", "parse_duration", "write_duration"]

# Each part once, the larger before the smaller; editors are reported the same.
_DURATION = r"(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m(?!s))?(?:([0-9]{1,6})s)?(?:([0-9]{1,6})ms)?"
_UNITS = ("days", "hours", "minutes", "seconds", "milliseconds")
_ADDRESS = r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:\s]*)):([0-9]{1,5})"


@dataclass(frozen=True)
class Form:
    """`parse` gives the value of plain data as a file has it; raises ValueError with a sentence."""

    title: str
    parse: Callable[[Any], Any]
    schema: dict[str, Any]
    write: Callable[[Any], Any] = field(default=lambda value: value)  # the other way round
    read: Callable[[str], Any] = field(default=lambda text: text)  # text of the environment as plain data


def form_of(annotation: Any) -> Form:
    """The form of a field's type. Raises TypeError for a type that has none: settings are declared by programmers."""
    setting = Setting("")
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        setting = next((note for note in notes if isinstance(note, Setting)), setting)
    options = [option for option in get_args(annotation) if option is not NoneType]
    if get_origin(annotation) is Literal:
        return _choice([str(option) for option in options])
    if len(options) == 1 and NoneType in get_args(annotation):
        annotation = options[0]
    if annotation is timedelta:
        return _duration(setting)
    if annotation is bool:
        return Form("true or false", _boolean, {"type": "boolean"}, read=scalar)
    if annotation in (int, float):
        return _number(annotation, setting)
    if annotation is str:
        return _ADDRESS_FORM if setting.unit == "address" else _TEXT
    if annotation == tuple[str, ...]:
        return _TEXTS
    raise TypeError(f"a setting can't be of type {annotation}")


# -- durations


def parse_duration(text: str) -> timedelta:
    """Raises ValueError for what is no duration."""
    found = re.fullmatch(_DURATION, text)
    if found is None:
        raise ValueError(f'{quoted(text)} is no duration; write it as "90s", "10m", "2h30m" or "1d"')
    return timedelta(**{unit: int(count) for unit, count in zip(_UNITS, found.groups(), strict=True) if count})


def write_duration(value: timedelta) -> str:
    """As short as it can be read back: "4m30s"."""
    rest, text = value // timedelta(milliseconds=1), ""
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def _duration(setting: Setting) -> Form:
    low, high = (parse_duration(str(end)) if end is not None else None for end in (setting.low, setting.high))

    def parse(value: Any) -> timedelta:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError(f'{quoted(value)} has no unit; write it as "{_short(value)}s" if seconds are meant')
        if not isinstance(value, str):
            raise ValueError(f'{quoted(value)} is no duration; write it as "90s", "10m", "2h30m" or "1d"')
        duration = parse_duration(value)
        _within(duration, low, high, write_duration)
        return duration

    return Form(
        _ranged("duration", low, high, write_duration),
        parse,
        {"type": "string", "pattern": f"^{_DURATION}$"},
        write_duration,
    )


def _short(value: float) -> str:
    return str(value)[:12]


# -- numbers, choices, text


def _number(kind: type, setting: Setting) -> Form:
    noun = f"{'whole number' if kind is int else 'number'}{f' of {setting.unit}' if setting.unit else ''}"

    def parse(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{quoted(value)} is no {noun}")
        if kind is int and value != int(value):
            raise ValueError(f"{quoted(value)} is no {noun}")
        number: float = kind(value)
        _within(number, setting.low, setting.high, str)
        return number

    schema: dict[str, Any] = {"type": "integer" if kind is int else "number"}
    ends = {"minimum": setting.low, "maximum": setting.high}
    schema |= {name: end for name, end in ends.items() if end is not None}
    return Form(_ranged(noun, setting.low, setting.high, str), parse, schema, read=scalar)


def _within(value: Any, low: Any, high: Any, write: Callable[[Any], str]) -> None:
    if (low is not None and value < low) or (high is not None and value > high):
        raise ValueError(
            f"{_cut(write(value))} is out of range; it must be {_ranged('', low, high, write).strip(', ')}"
        )


def _ranged(noun: str, low: Any, high: Any, write: Callable[[Any], str]) -> str:
    if low is None and high is None:
        return noun
    if low is not None and high is not None:
        return f"{noun}, {write(low)} to {write(high)}"
    return f"{noun}, at least {write(low)}" if high is None else f"{noun}, at most {write(high)}"


def _cut(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{quoted(value)} is neither true nor false")
    return value


def _choice(options: list[str]) -> Form:
    def parse(value: Any) -> str:
        if value not in options:
            near = nearest(value, options) if isinstance(value, str) else None
            hint = f'did you mean "{near}"?' if near else f"write {_listed(options)}"
            raise ValueError(f"{quoted(value)} is not known; {hint}")
        return str(value)

    return Form(_listed(options), parse, {"enum": options})


def _listed(options: list[str]) -> str:
    return f"{', '.join(options[:-1])} or {options[-1]}" if len(options) > 1 else options[0]


def _text(value: Any) -> str:
    if isinstance(value, bool | int | float):
        raise ValueError(f'{quoted(value)} is no text; write it in quotes: "{quoted(value)}"')
    if not isinstance(value, str):
        raise ValueError(f"{quoted(value)} is no text")
    if not value or not value.isprintable():
        raise ValueError(f"{quoted(value)} is {'empty' if not value else 'no single line of text'}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{quoted(value)} is no list of texts")
    return tuple(_text(each) for each in value)


def address(text: str) -> tuple[str, int]:
    """Host and port. Raises ValueError."""
    found = re.fullmatch(_ADDRESS, text)
    if found is None or int(found[3]) > 65535:
        raise ValueError(f"{quoted(text)} is no HOST:PORT; write it as 127.0.0.1:9877 or [::1]:9877")
    return found[1] or found[2] or "127.0.0.1", int(found[3])


def _address(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{quoted(value)} is no HOST:PORT; write it as 127.0.0.1:9877 or [::1]:9877")
    address(value)
    return value


_PRINTABLE = {"type": "string", "minLength": 1}
_TEXT = Form("text", _text, _PRINTABLE)
_TEXTS = Form(
    "list of texts",
    _texts,
    {"type": "array", "items": _PRINTABLE},
    write=list,
    read=lambda text: [part.strip() for part in text.split(",")],
)
_ADDRESS_FORM = Form("HOST:PORT", _address, {"type": "string", "pattern": f"^{_ADDRESS}$"})
