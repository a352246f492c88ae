"""IP addresses as claims, pods and networks spell them, brought to one spelling."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from ipaddress import IPv6Address
from itertools import pairwise
from typing import NamedTuple

from .text_cache import remembered

_LONGEST_PREFIX = 7  # characters; no prefix length of so many is one
_PART = r"0*\d{1,3}"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_CANONICAL = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_IPV4 = re.compile(rf"{_PART}\.{_PART}\.{_PART}\.{_PART}", re.ASCII)


def host(text: str) -> str | None:
    """The address in `address[/prefix]`, canonical; None where it is none.

    Leading zeros of IPv4 parts are read as decimal, as OVN-Kubernetes does.
    """
    address = text.partition("/")[0].strip()
    if _CANONICAL.fullmatch(address):
        return address
    if _IPV4.fullmatch(address):
        parts = [int(part) for part in address.split(".")]
        return ".".join(map(str, parts)) if max(parts) < 256 else None
    try:
        return str(ipaddress.IPv6Address(address))
    except ValueError:
        return None


def prefix(text: str) -> int:
    """The prefix length in `address/prefix`; -1 where there is none."""
    length = text.partition("/")[2].strip()
    return int(length) if length.isdecimal() and len(length) <= _LONGEST_PREFIX else -1


# Addresses and ranges as integers, read as OVN-Kubernetes reads them: leading zeros are decimal.
#
# One integer stands for an address of either family: IPv6 is counted from SIX on. NONE stands for what is no address.

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


# MAC addresses as VMs and VMIs spell them, brought to one spelling.

# The spellings that Go's net.ParseMAC reads, by which KubeVirt admits a MAC address: six pairs with colons or dashes,
# or three groups with dots.
_PAIRS = re.compile(r"[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5})", re.ASCII)
_GROUPS = re.compile(r"[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}", re.ASCII)
# Those that are comparable as they are: most of them.
_COMPARABLE = re.compile(r"[0-9a-f][02468ace](?::[0-9a-f]{2}){5}")
_NO_ADDRESS = "00:00:00:00:00:00"
_GROUP_BIT = 1  # of the first octet: an address of many, which no interface has for its own


def comparable(text: str | None) -> str:
    """What all spellings of one address share, six pairs with colons; empty for none, and for one of no interface."""
    if text and _COMPARABLE.fullmatch(text):
        return text if text != _NO_ADDRESS else ""
    spelt = (text or "").strip().lower()
    if not (_PAIRS.fullmatch(spelt) or _GROUPS.fullmatch(spelt)):
        return ""
    digits = spelt.translate(_BARE)
    if int(digits[:2], 16) & _GROUP_BIT or not int(digits, 16):
        return ""
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2))


_BARE = str.maketrans("", "", ":-.")
