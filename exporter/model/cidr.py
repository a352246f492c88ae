"""Addresses and ranges as integers, read as OVN-Kubernetes reads them: leading zeros are decimal."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

__all__ = ["Address", "Block", "blocks", "number", "parse_block", "parse_entry"]

Address = tuple[int, int]  # IP version, value


class Block(NamedTuple):
    """One CIDR, its host bits masked."""

    version: int
    first: int
    last: int
    prefix: int

    def covers(self, other: Block) -> bool:
        return self.version == other.version and self.first <= other.first and other.last <= self.last

    def overlaps(self, other: Block) -> bool:
        return self.version == other.version and self.first <= other.last and other.first <= self.last

    def __str__(self) -> str:
        return f"{_text(self.version, self.first)}/{self.prefix}"


def number(text: str) -> Address | None:
    """An address without prefix."""
    if ":" in text:
        return _six(text)
    parts = text.split(".")
    if len(parts) != 4:
        return None
    value = 0
    for part in parts:
        if not (part.isdigit() and part.isascii()) or (octet := int(part)) > 255:
            return None
        value = value << 8 | octet
    return 4, value


def parse_entry(text: str) -> Address | None:
    """The address of `address/prefix`; None where OVN-Kubernetes could not read it."""
    host, slash, prefix = text.partition("/")
    address = number(host)
    if address is None or not slash or not (prefix.isdigit() and prefix.isascii()):
        return None
    bits = 128 if ":" in host else 32
    return address if len(prefix) < 8 and int(prefix) <= bits else None


def parse_block(text: str) -> Block | None:
    text = text.strip()
    address = parse_entry(text)
    if address is None:
        return None
    version, value = address
    bits, prefix = (32 if version == 4 else 128), int(text.rpartition("/")[2])
    if prefix > bits:
        return None  # an IPv4 address in the clothes of IPv6
    first = value >> (bits - prefix) << (bits - prefix)
    return Block(version, first, first + (1 << (bits - prefix)) - 1, prefix)


def blocks(texts: Iterable[str]) -> tuple[Block, ...]:
    return tuple(block for block in map(parse_block, texts) if block is not None)


def _six(text: str) -> Address | None:
    head, gap, tail = text.partition("::")
    left, right = _groups(head, not gap), _groups(tail, True)
    if left is None or right is None:
        return None
    missing = 8 - len(left) - len(right)
    if missing < 1 if gap else missing:
        return None
    value = 0
    for group in (*left, *([0] * missing), *right):
        value = value << 16 | group
    return (4, value & 0xFFFFFFFF) if value >> 32 == 0xFFFF else (6, value)


_HEX = frozenset("0123456789abcdefABCDEF")


def _groups(text: str, last: bool) -> list[int] | None:
    """The 16-bit groups of one side of `::`; the last of all may be an IPv4 address."""
    if not text:
        return []
    groups: list[int] = []
    parts = text.split(":")
    for at, part in enumerate(parts):
        if "." in part and last and at == len(parts) - 1:
            four = number(part)
            if four is None:
                return None
            groups += [four[1] >> 16, four[1] & 0xFFFF]
        elif part and len(part) <= 8 and _HEX.issuperset(part) and (group := int(part, 16)) <= 0xFFFF:
            groups.append(group)
        else:
            return None
    return groups


def _text(version: int, value: int) -> str:
    return str(IPv4Address(value) if version == 4 else IPv6Address(value))
