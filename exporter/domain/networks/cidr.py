"""Addresses and ranges as integers, read as OVN-Kubernetes reads them: leading zeros are decimal.

One integer stands for an address of either family: IPv6 is counted from SIX on. NONE stands for what is no address.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv6Address
from itertools import pairwise
from typing import NamedTuple

from ...store.text.text_cache import remembered

SIX = 1 << 128
NONE = -1


class Block(NamedTuple):
    """One CIDR, its host bits masked."""

    first: int
    last: int
    prefix: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def version(self) -> int:
        return 6 if self.first >= SIX else 4

    def __str__(self) -> str:
        one = self.first
        if self.version == 6:
            return f"{IPv6Address(one - SIX)}/{self.prefix}"
        return f"{one >> 24}.{one >> 16 & 255}.{one >> 8 & 255}.{one & 255}/{self.prefix}"


def number(text: str) -> int:
    """An address without prefix."""
    if ":" in text:
        return _six(text)
    try:
        one, two, three, four = text.split(".")
        return _OCTETS[one] << 24 | _OCTETS[two] << 16 | _OCTETS[three] << 8 | _OCTETS[four]
    except (KeyError, ValueError):  # with leading zeros, or no address at all
        return _four(text)


_OCTETS = {str(octet): octet for octet in range(256)}


def _four(text: str) -> int:
    parts = text.split(".")
    if len(parts) != 4:
        return NONE
    value = 0
    for part in parts:
        if not (part.isdigit() and part.isascii()):
            return NONE
        digits = part.lstrip("0") or "0"
        if len(digits) > 3 or (octet := int(digits)) > 255:
            return NONE
        value = value << 8 | octet
    return value


def parse_entry(text: str) -> int:
    """The address of `address/prefix`; NONE where OVN-Kubernetes could not read it."""
    host, slash, prefix = text.partition("/")
    if not slash or not (prefix.isdigit() and prefix.isascii()) or len(prefix) > 7:
        return NONE
    return number(host) if int(prefix) <= (128 if ":" in host else 32) else NONE


@remembered(20_000)
def parse_block(text: str) -> Block | None:
    address = parse_entry(text.strip())
    if address == NONE:
        return None
    bits, base = (128, SIX) if address >= SIX else (32, 0)
    prefix = int(text.strip().rpartition("/")[2])
    if prefix > bits:
        return None  # an IPv4-mapped IPv6 address
    first = base + ((address - base) >> (bits - prefix) << (bits - prefix))
    return Block(first, first + (1 << (bits - prefix)) - 1, prefix)


def blocks(texts: Iterable[str]) -> tuple[Block, ...]:
    return tuple(block for block in map(parse_block, texts) if block is not None)


def overlap(found: Iterable[Block]) -> bool:
    """Whether two of them share an address."""
    ordered = sorted(found)
    return any(one.last >= other.first for one, other in pairwise(ordered))


def covered(found: Iterable[Block], by: Iterable[Block]) -> bool:
    """Whether each of them is within one of the others."""
    sizes: dict[int, set[int]] = {}
    for each in by:
        sizes.setdefault(each.size, set()).add(each.first)
    return all(
        any(each.size <= size and each.first - each.first % size in starts for size, starts in sizes.items())
        for each in found
    )


def _six(text: str) -> int:
    head, gap, tail = text.partition("::")
    left, right = _groups(head, not gap), _groups(tail, True)
    if left is None or right is None:
        return NONE
    missing = 8 - len(left) - len(right)
    if missing < 1 if gap else missing:
        return NONE
    value = 0
    for group in (*left, *([0] * missing), *right):
        value = value << 16 | group
    return value & 0xFFFFFFFF if value >> 32 == 0xFFFF else SIX + value


_HEX = frozenset("0123456789abcdefABCDEF")


def _groups(text: str, last: bool) -> list[int] | None:
    """The 16-bit groups of one side of `::`; the last of all may be an IPv4 address."""
    if not text:
        return []
    groups: list[int] = []
    parts = text.split(":")
    for at, part in enumerate(parts):
        if "." in part and last and at == len(parts) - 1:
            four = _four(part)
            if four == NONE:
                return None
            groups += [four >> 16, four & 0xFFFF]
        elif part and len(part) <= 8 and _HEX.issuperset(part) and (group := int(part, 16)) <= 0xFFFF:
            groups.append(group)
        else:
            return None
    return groups
