"""The address pool of a layer-2 or localnet network of OVN-Kubernetes: how many addresses it can give out, and where an
address stands in it.

Addresses are integers here, in the hot path too: a network may have tens of thousands of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import inf
from typing import NamedTuple

from .addresses import NONE, SIX, Block, blocks, number, parse_entry

Range = tuple[int, int]  # first, last

_V6_WINDOW = 65536  # OVN-Kubernetes hands out no more of an IPv6 subnet, however large it is


class AddressPlace(StrEnum):
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


class Ranges:
    """Addresses as ranges, sorted and apart, of which there may be tens of thousands."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._ranges = _merged(ranges)
        self._before = list(accumulate((last - first + 1 for first, last in self._ranges), initial=0))

    def __iter__(self) -> Iterator[Range]:
        return iter(self._ranges)

    def __contains__(self, value: int) -> bool:
        at = bisect_right(self._ranges, (value, inf)) - 1
        return at >= 0 and value <= self._ranges[at][1]

    def count(self, first: int, last: int) -> int:
        """How many addresses of `first` to `last` are in them."""
        return self._up_to(last) - self._up_to(first - 1) if first <= last else 0

    def _up_to(self, value: int) -> int:
        at = bisect_right(self._ranges, (value, inf)) - 1
        return self._before[at] + min(value, self._ranges[at][1]) - self._ranges[at][0] + 1 if at >= 0 else 0


class _Withheld:
    """What all subnets of a network do not give out by themselves; `kept` is what nobody gets."""

    def __init__(self, excludes: Iterable[Block], own: Iterable[Block], reserved: Iterable[Block]) -> None:
        self.excluded = Ranges((each.first, each.last) for each in excludes)
        self.kept = Ranges([*self.excluded, *((each.first, each.last) for each in own)])
        self.all = Ranges([*self.kept, *((each.first, each.last) for each in reserved)])


@dataclass(frozen=True, slots=True)
class _Subnet:
    block: Block
    low: int  # the window in which addresses are given out
    high: int
    taken: frozenset[int]  # what the network takes for itself
    capacity: Capacity

    def place(self, value: int, withheld: _Withheld) -> AddressPlace:
        if not self.low <= value <= self.high:
            edge = value == self.block.first or self.block.version == 4
            return AddressPlace.EDGE if edge else AddressPlace.BEYOND
        if value in self.taken or value in withheld.kept:
            return AddressPlace.EXCLUDED
        return AddressPlace.RESERVED if value in withheld.all else AddressPlace.INSIDE

    def used(self, held: Sequence[int], withheld: _Withheld) -> int:
        """How many of these addresses, sorted, it has given out."""
        inside = held[bisect_left(held, self.low) : bisect_right(held, self.high)]
        return sum(value not in self.taken and value not in withheld.all for value in inside)


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
        found = dict.fromkeys(blocks(subnets) if topology in ("layer2", "localnet") else ())
        own = blocks(infrastructure)
        self._withheld = withheld = _Withheld(blocks(excludes), own, blocks(reserved))
        first = by_family(gateways)
        self._subnets = tuple(_subnet(block, withheld, implicit(block, first, role, topology, own)) for block in found)
        self._capacity = tuple(subnet.capacity for subnet in self._subnets)
        # Two CIDRs are apart, or one holds the other: by their sizes, an address is found without looking at each.
        self._at = {(block.size, block.first): at for at, block in enumerate(found)}
        self._sizes = tuple(dict.fromkeys(block.size for block in found))
        self._sixes = {block.version == 6 for block in found}

    def capacity(self) -> tuple[Capacity, ...]:
        """In the order of the subnets."""
        return self._capacity

    def place(self, text: str) -> AddressPlace:
        """Where one entry of a claim's `status.ips` stands; an entry without a prefix is unreadable."""
        address = parse_entry(text)
        return AddressPlace.UNREADABLE if address == NONE else self.locate(address)[0]

    def locate(self, address: int) -> tuple[AddressPlace, int]:
        """Where an address stands, and in which subnet, counted from 0; -1 for none."""
        found = [self._at.get((size, address - address % size), -1) for size in self._sizes]
        at = min((each for each in found if each >= 0), default=-1) if len(found) != 1 else found[0]
        if at >= 0:
            return self._subnets[at].place(address, self._withheld), at
        return AddressPlace.OUTSIDE if (address >= SIX) in self._sixes else AddressPlace.NO_FAMILY, at

    def used(self, addresses: Iterable[int]) -> tuple[int, ...]:
        """How many different ones of these addresses each subnet has given out; other places don't count."""
        held = sorted(set(addresses))
        return tuple(subnet.used(held, self._withheld) for subnet in self._subnets)

    def free(self, used: Iterable[int]) -> int:
        """How many more pods fit: each takes an address of every subnet, so the fullest one decides."""
        return min((max(0, c.dynamic - n) for c, n in zip(self.capacity(), used, strict=True)), default=0)

    def utilisation(self, used: Iterable[int]) -> float:
        """The share of the fullest subnet that is given out; 0 where nothing can be."""
        shares = (n / c.dynamic for c, n in zip(self.capacity(), used, strict=True) if c.dynamic)
        return max(shares, default=0.0)


def _subnet(block: Block, withheld: _Withheld, implicit: Iterable[int]) -> _Subnet:
    low, high = _window(block)
    taken = frozenset(value for value in implicit if low <= value <= high)
    excluded = withheld.excluded.count(low, high)
    kept = withheld.kept.count(low, high) + sum(value not in withheld.kept for value in taken)
    every = withheld.all.count(low, high) + sum(value not in withheld.all for value in taken)
    size = max(0, high - low + 1)
    capacity = Capacity(
        str(block),
        window=size,
        dynamic=size - every,
        static=every - kept,
        excluded=excluded,
        infrastructure=kept - excluded,
    )
    return _Subnet(block, low, high, taken, capacity)


def _window(block: Block) -> Range:
    if block.version == 4:
        return block.first + 1, block.last - 1
    return block.first + 1, min(block.last, block.first + _V6_WINDOW - 1)


def by_family(gateways: Iterable[str]) -> dict[bool, int]:
    """The first address of each family that there is; True is IPv6."""
    found: dict[bool, int] = {}
    for address in map(number, gateways):
        if address != NONE:
            found.setdefault(address >= SIX, address)
    return found


def implicit(
    block: Block, gateways: Mapping[bool, int], role: str, topology: str, infrastructure: tuple[Block, ...]
) -> list[int]:
    """The gateway and the management address that a primary layer-2 network takes for itself."""
    if role != "primary" or topology != "layer2" or infrastructure:
        return []
    gateway = gateways.get(block.first >= SIX, block.first + 1)
    return [gateway, block.first + 1 if gateway == block.first + 2 else block.first + 2]


def _merged(ranges: Iterable[Range]) -> list[Range]:
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
