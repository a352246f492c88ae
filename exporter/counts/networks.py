"""How full the pool of each network is, and of what; there for each network, whether or not it has a finding."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..facts.pool import Capacity
from ..store.kinds import ipam_claim, network_attachment_definition, pod, virtual_machine, virtual_machine_instance
from .addresses import AddressUsage, AddressUse
from .base import Gauge, Sample, State


class SubnetReport(msgspec.Struct, frozen=True, rename="camel"):
    """`capacity` is allocated dynamically; `static` must be requested.

    `usage` has every use, also at 0; only addresses of the capacity count.
    """

    subnet: str
    capacity: int
    static: int
    excluded: int
    infrastructure: int
    used: int
    free: int
    utilisation: float
    usage: dict[str, int]


def subnet_reports(usage: AddressUsage, network: str) -> Iterator[SubnetReport]:
    pool = usage.pool(network)
    for at, capacity in enumerate(pool.capacity() if pool is not None else ()):
        yield _subnet(capacity, {use.value: usage.count(network, at, use) for use in AddressUse})


def _subnet(capacity: Capacity, by_use: dict[str, int]) -> SubnetReport:
    used = sum(by_use.values())
    return SubnetReport(
        subnet=capacity.subnet,
        capacity=capacity.dynamic,
        static=capacity.static,
        excluded=capacity.excluded,
        infrastructure=capacity.infrastructure,
        used=used,
        free=max(0, capacity.dynamic - used),
        utilisation=round(used / capacity.dynamic, 4) if capacity.dynamic else 0.0,
        usage=by_use,
    )


def _capacity(usage: AddressUsage) -> Iterator[list[Sample]]:
    for network in usage.networks():
        yield [((network, subnet.subnet), subnet.capacity) for subnet in subnet_reports(usage, network)]


def _used(usage: AddressUsage) -> Iterator[list[Sample]]:
    for network in usage.networks():
        yield [
            ((network, subnet.subnet, use), count)
            for subnet in subnet_reports(usage, network)
            for use, count in subnet.usage.items()
        ]


def _withheld(usage: AddressUsage) -> Iterator[list[Sample]]:
    for network in usage.networks():
        yield [
            ((network, subnet.subnet, why), count)
            for subnet in subnet_reports(usage, network)
            for why, count in (
                ("excluded", subnet.excluded),
                ("infrastructure", subnet.infrastructure),
                ("reserved", subnet.static),
            )
        ]


def _outside(usage: AddressUsage) -> Iterator[list[Sample]]:
    for network in usage.networks():
        yield [((network, place.value, use.value), n) for (place, use), n in usage.outside(network).items()]


STATE = State(
    keep=AddressUsage,
    gauges=(
        Gauge(
            "kubevirt_ipam_pool_capacity",
            "Addresses that a subnet of a network can allocate dynamically.",
            ("network", "subnet"),
            _capacity,
        ),
        Gauge(
            "kubevirt_ipam_pool_used",
            "Used addresses of a subnet's capacity, by use.",
            ("network", "subnet", "use"),
            _used,
        ),
        Gauge(
            "kubevirt_ipam_pool_withheld",
            "Addresses of a subnet that are not part of its capacity: excluded, kept for the network's infrastructure, "
            "or reserved for explicit requests.",
            ("network", "subnet", "why"),
            _withheld,
        ),
        Gauge(
            "kubevirt_ipam_pool_used_outside",
            "Addresses held in a network outside of its subnets' capacity, by place and use. No series without such "
            "addresses.",
            ("network", "place", "use"),
            _outside,
        ),
    ),
    reads=(
        network_attachment_definition.KIND,
        ipam_claim.KIND,
        pod.KIND,
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
    ),
    indexes=AddressUsage.INDEXES,
)
