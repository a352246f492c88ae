"""Plots as SVG: lines over sizes on logarithmic axes, with every point's figure beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Line", "plot"]

_WIDTH, _HEIGHT = 700, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 220, 40, 50
_APART = 48  # at least, from the middle of one size's figure to that of the next
# Different to those who see no red or no green, too.
_COLOURS = ("#0072b2", "#d55e00", "#e69f00", "#666666")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]


def plot(title: str, across: str, lines: Sequence[Line], figure: Callable[[float], str]) -> str:
    """`figure` writes a value of the vertical axis, `across` is what the other one counts."""
    xs = sorted({x for line in lines for x, _ in line.points})
    low, high = _decades([y for line in lines for _, y in line.points if y > 0])
    x_of, y_of = _scale(xs[0], xs[-1], _LEFT, _WIDTH - _RIGHT), _scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = [_text(_LEFT, 20, title, "start", bold=True), _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, across)]
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        y = y_of(10.0**power)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(_text(_LEFT - 8, y + 4, figure(10.0**power), "end"))
    written = math.inf
    for x in reversed(xs):
        if written - x_of(x) >= _APART:
            written = x_of(x)
            parts.append(_text(written, _HEIGHT - _BOTTOM + 18, f"{x:,.0f}"))
    for number, line in enumerate(lines):
        parts += _drawn(number, line, x_of, y_of, figure)
    body = "\n".join(parts)
    label = escape(title, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _drawn(
    number: int,
    line: Line,
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
    figure: Callable[[float], str],
) -> list[str]:
    colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
    points = [(x_of(x), y_of(y), y) for x, y in line.points if y > 0]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    height = _TOP + 20 + 44 * number
    pen = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
    parts = [
        f'<polyline points="{path}" fill="none" {pen}/>',
        f'<line x1="{_WIDTH - _RIGHT + 14}" x2="{_WIDTH - _RIGHT + 40}" y1="{height}" y2="{height}" {pen}/>',
        _text(_WIDTH - _RIGHT + 46, height + 4, line.name, "start"),
    ]
    for x, y, value in points:
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"><title>{figure(value)}</title></circle>')
    if points:
        x, y, value = points[-1]
        inside = x + _APART < _WIDTH - _RIGHT  # else it would stand where the names are
        parts.append(_text(x + 6 if inside else x, y - 8, figure(value), "start" if inside else "end"))
    return parts


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _scale(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """Logarithmic; a single value stands in the middle."""
    if low == high:
        return lambda _: (begin + end) / 2
    width = math.log10(high / low)
    return lambda value: begin + (end - begin) * math.log10(value / low) / width


def _text(x: float, y: float, text: str, anchor: str = "middle", *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222222"{weight}>{escape(text)}</text>'
