"""The answer of a range query, within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

MOST_POINTS = 400  # of a series
_MOST_SERIES = 10

Ranges = Mapping[str, tuple[tuple[float, float], ...]]
"""Of each series, by its label `of`, the points that there are: seconds since 1970, and the value."""


class Question(msgspec.Struct, frozen=True):
    """A query whose series have a label `of`; how long back from now, and in which steps, in seconds."""

    query: str
    length: int
    step: int


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


_DECODER = msgspec.json.Decoder(_Answer)


def decoded(body: bytes) -> Ranges:
    """Raises ValueError for what is no such answer."""
    try:
        series = _DECODER.decode(body).data.result
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the response is no result of a range query: {error}") from error
    if len(series) > _MOST_SERIES or any(len(each.values) > MOST_POINTS for each in series):
        raise ValueError("the response has more than was asked for")
    found = {each.metric.get("of", ""): tuple((at, float(text)) for at, text in each.values) for each in series}
    if any(not (math.isfinite(at) and math.isfinite(value)) for points in found.values() for at, value in points):
        raise ValueError("the response has what is no number")
    return found
