"""How full the pool of each network is, and of what; there for each network, whether or not it has a finding.

What the addresses are used for (`AddressUsage`) is kept up to date at a cost that grows with what changed: a change
notes the addresses that it concerns; `settle` counts those again. An address is counted once, whoever holds it: claim,
pods, or both. Nothing is counted again that did not change, however large the fleet.

What is held and the network would not give out by itself (excluded, reserved, outside of its subnets) takes nothing of
a subnet's capacity, and is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from ..facts.addresses import NONE, number
from ..facts.pool import AddressPlace, Capacity, Pool
from ..facts.vm_networks import claim_name
from ..store.cluster import Change, Cluster
from ..store.indexes.networks import ADDRESS, CLAIM, NAD, NETWORK, VM
from ..store.kinds import ipam_claim, network_attachment_definition, pod, virtual_machine, virtual_machine_instance
from ..store.kinds.ipam_claim import IPAMClaim
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of, ruling
from ..store.kinds.pod import Pod
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from .base import Gauge, Sample, State


class AddressUse(StrEnum):
    """Of several holders of one address the first of these counts."""

    VM_RUNNING = "vm_running"  # a claim that a pod uses
    TERMINATING = "terminating"  # a claim that is being deleted
    VM_STOPPED = "vm_stopped"  # a claim without a pod, whose VM is there
    LEAKED = "leaked"  # a claim for an interface that its VM no longer has
    FOREIGN = "foreign"  # a claim that KubeVirt did not make
    ORPHANED = "orphaned"  # a claim whose VM is gone
    POD_ONLY = "pod_only"  # a pod without a claim


_ORDER = tuple(AddressUse)
_SLICE = 250  # addresses, which take a few milliseconds
_NOWHERE = -1
Kind = tuple[AddressPlace, int, AddressUse]  # the subnet is counted from 0; -1 for what none has given out by itself


class AddressUsage:
    INDEXES = (VM, ADDRESS, CLAIM, NAD, NETWORK)
    KINDS = (NetworkAttachmentDefinition, IPAMClaim, Pod, VirtualMachine, VirtualMachineInstance)

    def __init__(self, cluster: Cluster) -> None:
        """The cluster has to keep INDEXES, and `changed` to be called with each of its changes."""
        self._cluster = cluster
        self._redefined: dict[str, None] = {}
        self._noted: dict[str, None] = {}
        self._kinds: dict[str, Kind] = {}  # of each address that counts, by its key
        self._counts: dict[str, dict[Kind, int]] = {}
        self._ruling: dict[str, NetworkAttachmentDefinition] = {}
        self.version = 0  # grows with every difference

    @classmethod
    def over(cls, cluster: Cluster) -> AddressUsage:
        """Of a cluster that holds something already."""
        usage = cls(cluster)
        for kind in cls.KINDS:
            for record in cluster.all(kind):
                touched = {index: tuple(cluster.keys_of(index, record)) for index in cls.INDEXES}
                usage.changed(Change(kind, None, record, touched))
        return usage

    def networks(self) -> list[str]:
        """The names of the networks that are defined, in order."""
        return sorted(self._ruling)

    def ruling(self, network: str) -> NetworkAttachmentDefinition:
        """The NAD that rules. Raises KeyError for a network that is not defined."""
        return self._ruling[network]

    def pool(self, network: str) -> Pool | None:
        ruler = self._ruling.get(network)
        return pool_of(ruler) if ruler is not None else None

    def count(self, network: str, subnet: int, use: AddressUse) -> int:
        """How many addresses of the subnet's capacity are used so."""
        return self._counts.get(network, {}).get((AddressPlace.INSIDE, subnet, use), 0)

    def outside(self, network: str) -> dict[tuple[AddressPlace, AddressUse], int]:
        """How many addresses are held that the network would not give out by itself; what is 0 is left out."""
        counts = self._counts.get(network, {})
        return {(place, use): n for (place, _, use), n in sorted(counts.items()) if place is not AddressPlace.INSIDE}

    # -- what comes in

    def changed(self, change: Change) -> None:
        owns = change.kind is VirtualMachine or change.kind is VirtualMachineInstance
        for key in change.touched.get(ADDRESS, ()):
            self._noted[key] = None
        if owns or change.kind is Pod:
            index = VM if owns else CLAIM
            for key in change.touched.get(index, ()):
                self._note_all(self._cluster.sharing(index, key))
        elif change.kind is NetworkAttachmentDefinition:
            self._redefined |= dict.fromkeys(change.touched.get(NAD, ()))

    def _note_all(self, records: Iterable[object]) -> None:
        for record in records:
            if isinstance(record, IPAMClaim | Pod):
                self._noted.update(dict.fromkeys(self._cluster.keys_of(ADDRESS, record)))

    def settle(self) -> Iterator[None]:
        """Counts again what was noted, and stops after each few, so that others get their turn."""
        while self._redefined:
            self._redefine(self._redefined.popitem()[0])
            yield  # of one network there may be thousands of addresses
        done = 0
        while self._noted:
            self._recount(self._noted.popitem()[0])
            done += 1
            if done % _SLICE == 0:
                yield

    def _redefine(self, network: str) -> None:
        nads = self._cluster.sharing(NAD, network)
        ruler = ruling(each for each in nads if isinstance(each, NetworkAttachmentDefinition))
        before = self.pool(network)
        if ruler is None:
            self._ruling.pop(network, None)
        else:
            self._ruling[network] = ruler
        self.version += 1
        if self.pool(network) is not before:
            self._note_all(self._cluster.sharing(NETWORK, network))

    def _recount(self, key: str) -> None:
        network, _, host = key.rpartition(" ")
        after = self._kind(network, host, key)
        before = self._kinds.get(key)
        if after == before:
            return
        self.version += 1
        counts = self._counts.setdefault(network, {})
        if before is not None:
            counts[before] -= 1
            if not counts[before]:
                del counts[before]
        if after is None:
            del self._kinds[key]
        else:
            self._kinds[key] = after
            counts[after] = counts.get(after, 0) + 1
        if not counts:
            del self._counts[network]

    def _kind(self, network: str, host: str, key: str) -> Kind | None:
        pool, holders = self.pool(network), tuple(self._cluster.sharing(ADDRESS, key))
        if pool is None or not pool.capacity() or not holders:
            return None
        address = number(host)
        place, subnet = pool.locate(address) if address != NONE else (AddressPlace.UNREADABLE, _NOWHERE)
        return place, subnet if place is AddressPlace.INSIDE else _NOWHERE, self._use(holders)

    def _use(self, holders: tuple[object, ...]) -> AddressUse:
        pods = [holder for holder in holders if isinstance(holder, Pod)]
        usage = [_use_of(self._cluster, holder, pods) for holder in holders if isinstance(holder, IPAMClaim)]
        return min(usage, key=_ORDER.index, default=AddressUse.POD_ONLY)


def _use_of(cluster: Cluster, claim: IPAMClaim, pods: list[Pod]) -> AddressUse:
    if claim.deleting is not None:
        return AddressUse.TERMINATING
    own = any(pod.namespace == claim.namespace and pod.domain and pod.domain in claim.vms for pod in pods)
    if own or any(isinstance(user, Pod) for user in cluster.sharing(CLAIM, f"{claim.namespace}/{claim.name}")):
        return AddressUse.VM_RUNNING
    if not claim.managed:
        return AddressUse.FOREIGN
    if not owner_lives(cluster, claim):
        return AddressUse.ORPHANED
    return AddressUse.VM_STOPPED if _listed(cluster, claim) else AddressUse.LEAKED


def owner_lives(cluster: Cluster, claim: IPAMClaim) -> bool:
    """Whether one of its owners is there, by uid; a claim without owner goes by the name of its label.

    A label that names another VM counts too: that one may use the claim.
    """
    uids = {owner.uid for owner in claim.owners if owner.uid}
    other = claim.vm if claim.mislabelled else None
    return any(not uids or vm.uid in uids or vm.name == other for vm in _vms(cluster, claim))


def _vms(cluster: Cluster, claim: IPAMClaim) -> Iterator[VirtualMachine | VirtualMachineInstance]:
    for name in claim.vms:
        vm = cluster.get(VirtualMachine, claim.namespace, name)
        vmi = cluster.get(VirtualMachineInstance, claim.namespace, name)
        yield from (each for each in (vm, vmi) if each is not None)


def _listed(cluster: Cluster, claim: IPAMClaim) -> bool:
    """Whether a VM of it has an interface that the claim's name stands for."""
    return claim.mislabelled or any(
        claim_name(vm.name, network) == claim.name for vm in _vms(cluster, claim) for network, _, _ in vm.networks
    )


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
