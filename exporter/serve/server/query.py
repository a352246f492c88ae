"""The parameters of requests. What can't be taken is refused in one sentence, which is the text of a ValueError."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from aiohttp import web

from ...engine.engine import Engine
from ...findings.severity import Severity
from ...questions.asked import Parameter, parameters
from ...questions.findings import Filter
from ...questions.nearest import meant
from ...questions.question import UnaskableError

T = TypeVar("T")
LONGEST_WAIT = 60  # seconds
_MOST_DIGITS = 18  # of a whole number
_MOST_OF_SECONDS = 9  # on each side of the point
_SHOWN = 60  # characters of a value


class Parameters:
    """`own` are those that a route has beside the filters."""

    def __init__(self, engine: Engine, own: Iterable[str]) -> None:
        self._own = tuple(own)
        reasons = sorted({name for check in engine.checks for name in check.reasons})
        self._known: dict[str, tuple[str, ...]] = {
            "severity": tuple(each.value for each in Severity),
            "check": tuple(sorted(check.id for check in engine.checks)),
            "reason": tuple(reasons),
        }

    def filter(self, request: web.BaseRequest) -> Filter:
        """Several values of one field are alternatives; an empty value is none."""
        chosen: dict[str, Any] = {}
        for key in request.query:
            if key in Filter.__struct_fields__:
                chosen[key] = frozenset(values_of(request, key))
                self._check(key, chosen[key])
            elif key not in self._own:
                raise ValueError(_unexpected(key, (*Filter.__struct_fields__, *self._own)))
        return Filter(**chosen)

    def _check(self, key: str, values: Iterable[str]) -> None:
        known = self._known.get(key)
        for value in values:
            if known is not None and value not in known:
                raise ValueError(f"{key}={_quoted(value)} can't be found here; {meant(value, known, f'{key} values')}")


def seconds_in(request: web.BaseRequest, name: str) -> float:
    """0 where it is not given."""
    text = single_in(request, name) or "0"
    seconds = _seconds(text)
    if seconds is None:
        raise ValueError(f"{name}={_quoted(text)} is not a number of seconds, such as 30")
    if seconds > LONGEST_WAIT:
        raise ValueError(f"{name}={_quoted(text)} is not between 0 and {LONGEST_WAIT} seconds")
    return seconds


def number_in(request: web.BaseRequest, name: str) -> int | None:
    """None where it is not given."""
    text = single_in(request, name)
    if text and not _are_digits(text, _MOST_DIGITS):
        raise ValueError(f"{name}={_quoted(text)} is not a whole number, such as 17")
    return int(text) if text else None


def only(request: web.BaseRequest, known: Sequence[str]) -> None:
    """Raises ValueError where there is another parameter."""
    for key in request.query:
        if key not in known:
            raise ValueError(_unexpected(key, known))


def asked_in(request: web.Request, asked: type[T]) -> T:
    """What a question is asked with: by the parameters of a request, several values of one separated by commas or given
    again, each once; the rest is part of its path. Raises UnaskableError.
    """
    known = parameters(asked)
    try:
        only(request, [each.name for each in known])
    except ValueError as error:
        raise UnaskableError(str(error)) from error
    return asked(**{each.field: _asked_for(request, each) for each in known}, **request.match_info)


def _asked_for(request: web.Request, parameter: Parameter) -> tuple[str, ...] | str | bool:
    name = parameter.name
    values = tuple(dict.fromkeys((_given if parameter.argument.whole else values_of)(request, name)))
    if parameter.several:
        return values
    if parameter.flag and (set(values) - {"true", "false"} or len(values) > 1):
        raise UnaskableError(f"{name} is true or false")
    if len(values) > 1:
        raise UnaskableError(f"{name} is given {len(values)} times; give one, or none for all")
    return values == ("true",) if parameter.flag else "".join(values)


def values_of(request: web.BaseRequest, key: str) -> list[str]:
    """Of one parameter, separated by commas or given again."""
    return [part for value in request.query.getall(key, []) for part in value.split(",") if part]


def _given(request: web.BaseRequest, key: str) -> list[str]:
    return [value for value in request.query.getall(key, []) if value]


def _seconds(text: str) -> float | None:
    """Of a number with or without its unit, `s`; None for anything else."""
    number = text.removesuffix("s")
    whole, _, part = number.partition(".")
    sound = _are_digits(whole, _MOST_OF_SECONDS) and (not part or _are_digits(part, _MOST_OF_SECONDS))
    return float(number) if sound else None


def _are_digits(text: str, most: int) -> bool:
    return len(text) <= most and text.isascii() and text.isdecimal()


def single_in(request: web.BaseRequest, name: str) -> str:
    """Empty where it is not given."""
    values = request.query.getall(name, [""])
    if len(values) > 1:
        raise ValueError(f"{name} is given {len(values)} times; give it once")
    return values[0]


def _unexpected(key: str, known: Sequence[str]) -> str:
    noun = "Filters are" if len(known) > 1 else "The filter is"
    return f"{_quoted(key)} is not a filter. {noun}: {', '.join(known)}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
