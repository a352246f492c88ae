"""What the next leader has to know of storms, as annotations of the Lease: bounded, whatever the fleet has.

One annotation is the storm of the fleet, in words. The other is JSON: how many findings are known by namespace and
check, and the storms of namespaces. Where that is too long the namespaces with the fewest findings are left out: of
them the sums are kept, and how many one of them has at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from .storm import Storm, Weather

__all__ = ["KNOWN", "STORM", "Carried", "Key", "decoded", "encoded"]

STORM, KNOWN = "storm", "storm-known"
"""Annotations of the Lease, without their prefix."""

_LONGEST = 16_384  # bytes; the Lease is written every few seconds, and may have 256 KiB of annotations
_FOR_STORMS = _LONGEST // 2

Key: TypeAlias = tuple[str, str]
"""A namespace, and a check."""


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """`totals` are of all namespaces, by check; `most` is what a namespace that is not listed has at most of a check.
    `storms` are as `Storm.encode` has them.
    """

    checks: tuple[str, ...]
    totals: dict[str, int] = {}
    most: int = 0
    namespaces: dict[str, dict[str, int]] = {}
    storms: dict[str, str] = {}


_DECODER = msgspec.json.Decoder(Carried)


def encoded(checks: frozenset[str], known: Counter[Key], storms: Mapping[str, Storm]) -> str:
    totals: Counter[str] = Counter()
    namespaces: dict[str, dict[str, int]] = {}
    for (namespace, check), number in sorted(known.items()):
        totals[check] += number
        namespaces.setdefault(namespace, {})[check] = number
    kept: dict[str, str] = {}
    room = _LONGEST - 1024 - 16 * len(totals)
    for namespace in sorted(storms, key=lambda each: (storms[each].weather is not Weather.STORM, each)):
        text = storms[namespace].encode()
        if (room := room - len(namespace) - len(text) - 6) < _LONGEST - _FOR_STORMS:
            break
        kept[namespace] = text
    listed: dict[str, dict[str, int]] = {}
    most = 0
    for namespace in sorted(namespaces, key=lambda each: (-max(namespaces[each].values()), each)):
        numbers = namespaces[namespace]
        if (room := room - len(namespace) - len(msgspec.json.encode(numbers)) - 6) < 0:
            most = max(numbers.values())  # all that follow have at most as many
            break
        listed[namespace] = numbers
    carried = Carried(tuple(sorted(checks)), dict(totals), most, listed, kept)
    return msgspec.json.encode(carried, order="sorted").decode()


def decoded(text: str | None) -> Carried | None:
    """None where there is none. Raises ValueError for what can't be read."""
    if not text:
        return None
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error
