"""Quantities of resources, in the notation of Kubernetes."""

from __future__ import annotations

import re
from sys import intern

Amounts = tuple[tuple[str, float], ...]
"""(resource, amount) sorted by name: cpu in cores, memory and storage in bytes, others as a count."""

_UNITS = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?)([numkMGTPE]?|[KMGTPE]i)")

_MOST = 2.0**63  # Kubernetes bounds them so

# Equal amounts share one tuple; emptied if too many differ.
_SHARED: dict[Amounts, Amounts] = {}
_MOST_SHARED = 50_000


def amount(text: str | int | float | None) -> float:
    """The number of a quantity, no further from 0 than _MOST. Raises ValueError for text that is not a quantity."""
    if text is None:
        return 0.0
    if not isinstance(text, str):
        return float(min(max(text, -_MOST), _MOST))
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text[:64]!r} is not a quantity")
    return min(max(float(match[1]) * _UNITS[match[2]], -_MOST), _MOST)


def amounts_of(wire: dict[str, str | int | float | None] | None) -> Amounts:
    """Raises ValueError for a malformed quantity."""
    return _shared({name: amount(text) for name, text in (wire or {}).items()})


def plus(*amounts: Amounts) -> Amounts:
    total: dict[str, float] = {}
    for each in amounts:
        for name, number in each:
            total[name] = total.get(name, 0.0) + number
    return _shared(total)


def _shared(amounts: dict[str, float]) -> Amounts:
    if len(_SHARED) > _MOST_SHARED:
        _SHARED.clear()
    made = tuple(sorted((intern(name), number) for name, number in amounts.items()))
    return _SHARED.setdefault(made, made)


# Durations as Go writes them, in specs of Kubernetes: `5m0s`, `1h30m`, `1.5h`.

_PART = re.compile("([0-9.]{1,24})([a-zµ]{1,2})")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 64  # characters; Go writes fewer


def go_seconds(text: str | None) -> float | None:
    """Seconds; None for what is no duration, and for a negative one."""
    if not text or len(text) > _LONGEST:
        return None
    if text == "0":
        return 0.0
    parts = list(_PART.finditer(text))
    if "".join(each[0] for each in parts) != text:
        return None
    try:
        return sum(float(number) * _SECONDS[unit] for number, unit in (each.groups() for each in parts))
    except (ValueError, KeyError):
        return None
