"""The address pool of a layer-2 or localnet network of OVN-Kubernetes: how many addresses it can give out, and where an
address stands in it.

Addresses are integers here, in the hot path too: a network may have tens of thousands of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import NamedTuple

from .cidr import NONE, SIX, Block, blocks, number, parse_entry

__all__ = ["Capacity", "Place", "Pool", "implicit"]

Range = tuple[int, int]  # first, last

_V6_WINDOW = 65536  # OVN-Kubernetes hands out no more of an IPv6 subnet, however large it is


class Place(StrEnum):
    """Where an address stands in a pool."""

    INSIDE = "inside"
    EXCLUDED = "excluded"  # of an exclude or infrastructure range, or the network's own gateway or management address
    RESERVED = "reserved"  # of a reserved range: given out to those that ask for it
    OUTSIDE = "outside"  # of every subnet of its family
    EDGE = "edge"  # a network or broadcast address
    BEYOND = "beyond"  # past the part of an IPv6 subnet that is given out
    NO_FAMILY = "no_family"  # the network has no subnet of this family
    UNREADABLE = "unreadable"


class Capacity(NamedTuple):
    """What one subnet can give out. `dynamic` is what pods get by themselves, `static` what they must ask for."""

    subnet: str
    window: int
    dynamic: int
    static: int
    excluded: int
    infrastructure: int


@dataclass(frozen=True, slots=True)
class _Subnet:
    block: Block
    low: int  # the window in which addresses are given out
    high: int
    withheld: tuple[Range, ...]  # what is not given out by itself; sorted, merged
    kept: tuple[Range, ...]  # those of them that nobody gets; sorted, merged
    capacity: Capacity

    def place(self, value: int) -> Place:
        if not self.low <= value <= self.high:
            edge = value == self.block.first or self.block.version == 4
            return Place.EDGE if edge else Place.BEYOND
        if not _holds(self.withheld, value):
            return Place.INSIDE
        return Place.EXCLUDED if _holds(self.kept, value) else Place.RESERVED

    def used(self, held: Sequence[int]) -> int:
        """How many of these addresses, sorted, it has given out."""
        return _between(held, self.low, self.high) - sum(_between(held, *each) for each in self.withheld)


class Pool:
    """Made of the texts of a NAD; what is no CIDR there is left out. Layer 3 has no pool of the network."""

    def __init__(
        self,
        subnets: Iterable[str],
        excludes: Iterable[str] = (),
        infrastructure: Iterable[str] = (),
        reserved: Iterable[str] = (),
        gateways: Iterable[str] = (),
        *,
        role: str = "secondary",
        topology: str = "layer2",
    ) -> None:
        flat = topology in ("layer2", "localnet")
        own = blocks(infrastructure)
        self._subnets = tuple(
            _subnet(block, blocks(excludes), own, blocks(reserved), implicit(block, gateways, role, topology, own))
            for block in (blocks(subnets) if flat else ())
        )

    def capacity(self) -> tuple[Capacity, ...]:
        """In the order of the subnets."""
        return tuple(subnet.capacity for subnet in self._subnets)

    def place(self, text: str) -> Place:
        """Where one entry of a claim's `status.ips` stands; an entry without a prefix is unreadable."""
        address = parse_entry(text)
        return Place.UNREADABLE if address == NONE else self.locate(address)[0]

    def locate(self, address: int) -> tuple[Place, int]:
        """Where an address stands, and in which subnet, counted from 0; -1 for none."""
        place = Place.NO_FAMILY
        for at, subnet in enumerate(self._subnets):
            block = subnet.block
            if block.first <= address <= block.last:
                return subnet.place(address), at
            if (block.first >= SIX) == (address >= SIX):
                place = Place.OUTSIDE
        return place, -1

    def used(self, addresses: Iterable[int]) -> tuple[int, ...]:
        """How many different ones of these addresses each subnet has given out; other places don't count."""
        held = sorted(set(addresses))
        return tuple(subnet.used(held) for subnet in self._subnets)

    def free(self, used: Iterable[int]) -> int:
        """How many more pods fit: each takes an address of every subnet, so the fullest one decides."""
        return min((max(0, c.dynamic - n) for c, n in zip(self.capacity(), used, strict=True)), default=0)

    def utilisation(self, used: Iterable[int]) -> float:
        """The share of the fullest subnet that is given out; 0 where nothing can be."""
        shares = (n / c.dynamic for c, n in zip(self.capacity(), used, strict=True) if c.dynamic)
        return max(shares, default=0.0)


def _subnet(
    block: Block, excludes: tuple[Block, ...], own: tuple[Block, ...], reserved: tuple[Block, ...], implicit: list[int]
) -> _Subnet:
    low, high = _window(block)
    excluded = _merged(_clipped(low, high, excludes))
    kept = _merged([*excluded, *_clipped(low, high, own), *((v, v) for v in implicit if low <= v <= high)])
    withheld = _merged([*kept, *_clipped(low, high, reserved)])
    size = max(0, high - low + 1)
    capacity = Capacity(
        str(block),
        window=size,
        dynamic=size - _count(withheld),
        static=_count(withheld) - _count(kept),
        excluded=_count(excluded),
        infrastructure=_count(kept) - _count(excluded),
    )
    return _Subnet(block, low, high, tuple(withheld), tuple(kept), capacity)


def _window(block: Block) -> Range:
    if block.version == 4:
        return block.first + 1, block.last - 1
    return block.first + 1, min(block.last, block.first + _V6_WINDOW - 1)


def implicit(
    block: Block, gateways: Iterable[str], role: str, topology: str, infrastructure: tuple[Block, ...]
) -> list[int]:
    """The gateway and the management address that a primary layer-2 network takes for itself."""
    if role != "primary" or topology != "layer2" or infrastructure:
        return []
    given = [
        address for address in map(number, gateways) if address != NONE and (address >= SIX) == (block.first >= SIX)
    ]
    gateway = given[0] if given else block.first + 1
    return [gateway, block.first + 1 if gateway == block.first + 2 else block.first + 2]


def _clipped(low: int, high: int, ranges: Iterable[Block]) -> list[Range]:
    found = ((max(low, each.first), min(high, each.last)) for each in ranges)
    return [(first, last) for first, last in found if first <= last]


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _holds(ranges: tuple[Range, ...], value: int) -> bool:
    at = bisect_right(ranges, (value, inf)) - 1
    return at >= 0 and value <= ranges[at][1]


def _count(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _between(held: Sequence[int], first: int, last: int) -> int:
    return max(0, bisect_right(held, last) - bisect_left(held, first))
