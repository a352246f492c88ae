"""How full the pool of each network is, and of what; there for each network, whether or not it has a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..address_usage import AddressUsage
from ..model.kinds import ipam_claim, network_attachment_definition, pod, virtual_machine, virtual_machine_instance
from ..views.networks import subnet_reports
from .base import Gauge, Sample, State

__all__ = ["STATE"]


def _capacity(usage: AddressUsage) -> Iterator[list[Sample]]:
    for network in usage.networks():
        yield [((network, subnet.subnet), subnet.capacity) for subnet in subnet_reports(usage, network)]


def _used(usage: AddressUsage) -> Iterator[list[Sample]]:
    for network in usage.networks():
        yield list(_used_of(usage, network))


def _used_of(usage: AddressUsage, network: str) -> Iterable[Sample]:
    for subnet in subnet_reports(usage, network):
        for use, count in subnet.usage.items():
            yield (network, subnet.subnet, use), count
        yield (network, subnet.subnet, "excluded"), subnet.excluded
        yield (network, subnet.subnet, "infrastructure"), subnet.infrastructure


STATE = State(
    keep=AddressUsage,
    gauges=(
        Gauge(
            "kubevirt_network_pool_capacity",
            "Addresses that a subnet of a network can give out by itself.",
            ("network", "subnet"),
            _capacity,
        ),
        Gauge(
            "kubevirt_network_pool_used",
            "Addresses of a subnet by what they are used for; "
            "excluded and infrastructure are not part of the capacity.",
            ("network", "subnet", "use"),
            _used,
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
