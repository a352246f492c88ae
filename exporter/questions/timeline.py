"""What was, as a page draws it: when something was found, and how a number went. Each has its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from .times import duration

Points = Sequence[tuple[float, float]]
_HEIGHT = 20.0  # of what is drawn


class Span(msgspec.Struct, frozen=True):
    """From one step to another (left out): `found`, `clear` where the check saw that it is not so, or `unseen`."""

    start: int
    end: int
    state: str


class Timeline(msgspec.Struct, frozen=True):
    """The last one of so many `steps` ends now."""

    steps: int
    length: str
    spans: tuple[Span, ...]
    text: str


def timeline_of(found: Points, seen: Points, now: float, length: int, step: int) -> Timeline | None:
    """Of a finding, by when it was found and when its check had an answer (1). None where nothing is known."""
    steps = length // step
    found_at, seen_at = _steps(found, now, step, steps), _steps(seen, now, step, steps)
    states = ["found" if at in found_at else "clear" if seen_at.get(at) else "unseen" for at in range(steps)]
    if set(states) <= {"unseen"}:
        return None
    spans, at = [], 0
    for state, run in groupby(states):
        count = len(list(run))
        spans.append(Span(at, at + count, state))
        at += count
    return Timeline(steps, _named(length), tuple(spans), _text(states, spans, step, length))


def _named(length: int) -> str:
    return {86_400: "day", 604_800: "week"}.get(length) or duration(length)


def _steps(points: Points, now: float, step: int, steps: int) -> dict[int, float]:
    """The values by the step that they are of. An answer may be a minute old."""
    found = {steps - 1 - round((now - at) / step): value for at, value in points}
    return {at: value for at, value in found.items() if 0 <= at < steps}


def _text(states: Sequence[str], spans: Sequence[Span], step: int, length: int) -> str:
    times = sum(each.state == "found" for each in spans)
    if not times:
        text = f"Not found in the last {_named(length)}, as far as Prometheus knows"
    else:
        often = "in one stretch" if times == 1 else f"in {times} stretches"
        text = f"Found in {duration(states.count('found') * step)} of the last {_named(length)}, {often}"
    unseen = states.count("unseen") * step
    return f"{text}. For {duration(unseen)} it is not known." if unseen else f"{text}."


class Curve(msgspec.Struct, frozen=True):
    """How a number went: lines of points in a box of `width` by 20, one for each time without a gap."""

    name: str
    width: int
    lines: tuple[str, ...]
    text: str


def curves_of(
    names: Iterable[str], ranges: Mapping[str, Points], now: float, length: int, step: int
) -> Iterator[Curve]:
    """Of those that are known, each from 0 to its largest."""
    for name in names:
        points = ranges.get(name, ())
        steps = length // step + 1
        values = _steps(points, now, step, steps)
        if len(values) < 2:
            continue
        every = [values[at] for at in sorted(values)]
        ends = f"between {min(every):,.0f} and {max(every):,.0f}"
        text = f"{every[-1]:,.0f} {name}, {ends} in the last {_named(length)}"
        yield Curve(name, steps - 1, tuple(_lines(values, max(every) or 1.0)), text)


def _lines(values: Mapping[int, float], most: float) -> Iterator[str]:
    """The points of each stretch, the larger the higher."""
    line: list[str] = []
    before = None
    for at in sorted(values):
        if before is not None and at != before + 1:
            yield " ".join(line)
            line = []
        line.append(f"{at},{_HEIGHT - values[at] / most * (_HEIGHT - 2) - 1:.1f}")
        before = at
    yield " ".join(line)
