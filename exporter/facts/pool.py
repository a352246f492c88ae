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
from typing import Any, NamedTuple

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


# The layer-2 network that a NAD attaches to: on one link, two interfaces with one address are in each other's way.
#
# A link is a text of its type and what identifies it, so that NADs of different names and namespaces can be of one
# link. Where the configuration does not say which network it is the link is empty: such interfaces are compared with
# nobody.
#
# - OVN-Kubernetes, layer 2: the network by its name, which the NADs of a CUDN share. A localnet is its physical network
#   and VLAN, which several networks may have (docs.ovn.org: a localnet port connects to the bridge mapped to
#   `network_name`). Layer 3 has a subnet for each node: such interfaces never meet.
# - The plugin `bridge`, KubeVirt's `cnv-bridge`, and `ovs`: a bridge of the node and a VLAN. Bridges of one name on two
#   nodes are one network where they have uplinks to it, which no object says: `certain` is false. A trunk carries VLANs
#   that the guest picks, and has no link here.
# - `sriov` and `macvtap`: what the NAD's own resource is attached to, so the NAD itself.

_RESERVED = ("default", "ovn-kubernetes")
_BRIDGES = {"bridge": "bridge", "cnv-bridge": "bridge", "ovs": "ovs"}
_OWN = ("sriov", "macvtap")
_OVN = "ovn-k8s-cni-overlay"


def link_of(network: str, config: Mapping[str, Any], home: str) -> str:
    """`config` is that of the plugin, with its keys in lower case; `home` the `namespace/name` of the NAD."""
    plugin = config.get("type")
    if plugin == _OVN:
        return _of_ovn(network, config)
    if plugin in _OWN:
        return f"nad {home}"
    bridge = config.get("bridge")
    if plugin not in _BRIDGES or not _names(bridge) or config.get("vlantrunk") or config.get("trunk"):
        return ""
    vlan = _vlan(config.get("vlan"))
    return f"{_BRIDGES[plugin]} {bridge} {vlan}" if vlan >= 0 else ""


def _of_ovn(network: str, config: Mapping[str, Any]) -> str:
    if not _names(network) or network in _RESERVED:
        return ""
    topology = config.get("topology")
    if topology == "layer2":
        return f"layer2 {network}"
    if topology != "localnet":
        return ""
    physical, vlan = config.get("physicalnetworkname") or network, _vlan(config.get("vlanid"))
    return f"localnet {physical} {vlan}" if _names(physical) and vlan >= 0 else ""


def _names(text: Any) -> bool:
    """Whether it can be part of a link, in which a space divides."""
    return isinstance(text, str) and bool(text) and not any(each.isspace() for each in text)


def _vlan(number: Any) -> int:
    """0 for none, -1 for what is no VLAN."""
    if number is None:
        return 0
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 4096 else -1


def certain(link: str) -> bool:
    """Whether what is attached to it meets on any node."""
    return link.startswith(("layer2 ", "localnet "))


def said(link: str) -> str:
    """As a message calls it."""
    kind, _, rest = link.partition(" ")
    if kind in ("layer2", "nad"):
        return f"{'network' if kind == 'layer2' else 'NAD'} {rest}"
    name, _, vlan = rest.rpartition(" ")
    what = {"localnet": "physical network", "bridge": "bridge", "ovs": "OVS bridge"}[kind]
    return f"{what} {name}" + (f", VLAN {vlan}" if vlan != "0" else "")
