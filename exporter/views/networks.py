"""IP usage of networks, and which addresses are reclaimable.

Pure: the counts come from `AddressUsage`, the reclaimable IPAMClaims from open findings. What deleting an IPAMClaim
loses is said with each, since it cannot be undone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from ..domain.networks.pool import Capacity
from ..findings.finding import Finding
from ..store.cluster import Cluster
from ..store.indexes.networks import NAD, UNKNOWN_HOLDER, unknown_holders
from ..store.kinds.ipam_claim import IPAMClaim
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..store.kinds.pod import Pod
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.reader import Reading
from ..store.record import Ref
from ..store.source import Undecodable, unseen
from ..store.text.naming import NAMED
from ..usage.addresses import AddressUsage, AddressUse, owner_lives
from .in_slices import at_once, in_order
from .times import rfc3339

__all__ = [
    "READER",
    "NetworkReport",
    "Networks",
    "Reclaimable",
    "Safety",
    "SubnetReport",
    "steps",
    "subnet_reports",
    "take",
]

READER = Reading(
    "networks",
    (
        NetworkAttachmentDefinition.KIND,
        IPAMClaim.KIND,
        Pod.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
    ),
    (*AddressUsage.INDEXES, UNKNOWN_HOLDER),
)
MOST_RECLAIMABLE = 100
_SLICE = 500  # findings looked at between two looks at the event loop


@dataclass(frozen=True)
class Safety:
    """How safe it is to reclaim an IPAMClaim's addresses: the rank, smallest first, and what is lost."""

    rank: int
    loss: str


# Reasons of open findings on IPAMClaims, the safest first.
RECLAIMABLE = {
    "StuckTerminatingOwnerGone": Safety(0, "Nothing in use: the IPAMClaim was deleted, and its VM is gone."),
    "OrphanClaim": Safety(1, "The address of a VM that is gone: recreated, it gets another one."),
    "OwnerlessClaim": Safety(2, "The address of a VM that is gone, or not yet created."),
    "LeakedClaim": Safety(3, "The address of a removed interface: plugged in again, it gets another one."),
    "IdleReservation": Safety(4, "The address of a stopped VM: it starts with another one. Ask its owner first."),
}


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


class Reclaimable(msgspec.Struct, frozen=True, rename="camel"):
    claim: Ref
    reason: str
    ips: tuple[str, ...]
    loss: str
    since: str
    fingerprint: str


class NetworkReport(msgspec.Struct, frozen=True, rename="camel"):
    """`free` and `utilisation` are of the fullest subnet, since a pod takes an address of each.

    It is not `complete` while an object is undecodable in a namespace with a NAD of it, or it can't be read which
    addresses a pod on it has. `outside` counts, by place and
    use, the addresses that are held and that the network would not allocate dynamically; `elsewhere` is all of them.
    """

    network: str
    topology: str
    role: str
    persistent: bool
    made_by: str
    nads: int
    first_nads: tuple[Ref, ...]
    free: int
    utilisation: float
    elsewhere: int
    outside: dict[str, dict[str, int]]
    complete: bool
    subnets: tuple[SubnetReport, ...]
    findings: dict[str, int]
    reclaimable: int
    reclaim: tuple[Reclaimable, ...]


class Networks(msgspec.Struct, frozen=True, rename="camel"):
    """`unseen` says which kinds can't be seen; the networks are then left out, since their counts would be wrong."""

    generation: int
    unseen: tuple[str, ...]
    networks: tuple[NetworkReport, ...]


def take(
    cluster: Cluster, usage: AddressUsage, findings: Iterable[Finding], generation: int, only: str = ""
) -> Networks:
    """The fullest first. What changed since `usage` was last settled is not counted yet."""
    return at_once(steps(cluster, usage, findings, generation, only))


def steps(
    cluster: Cluster, usage: AddressUsage, findings: Iterable[Finding], generation: int, only: str = ""
) -> Generator[None, None, Networks]:
    """The same, and stops after each few findings or a network, so that others get their turn."""
    blind = unseen(cluster, AddressUsage.KINDS)
    kinds = {kind.__name__ for kind in AddressUsage.KINDS}
    incomplete = frozenset(
        undecodable.namespace for undecodable in cluster.all(Undecodable) if undecodable.kind in kinds
    )
    by_network: dict[str, list[Finding]] = {}
    for at, finding in enumerate(findings):
        by_network.setdefault(finding.network, []).append(finding)
        if at % _SLICE == 0:
            yield
    reports = []
    for network in () if blind else tuple(usage.networks()):
        if only in ("", network):
            found = by_network.get(network, [])
            reclaim = yield from _ranked(cluster, found)
            reports.append(_network(cluster, usage, network, found, reclaim, incomplete))
            yield
    ordered = sorted(reports, key=lambda report: (-report.utilisation, report.network))
    return Networks(generation, blind, tuple(ordered))


def _network(
    cluster: Cluster,
    usage: AddressUsage,
    network: str,
    findings: list[Finding],
    reclaim: list[Reclaimable],
    incomplete: frozenset[str],
) -> NetworkReport:
    ruler = usage.ruling(network)
    defined = [each for each in cluster.sharing(NAD, network) if isinstance(each, NetworkAttachmentDefinition)]
    subnets = tuple(subnet_reports(usage, network))
    outside: dict[str, dict[str, int]] = {}
    for (place, use), count in usage.outside(network).items():
        outside.setdefault(place.value, {})[use.value] = count
    counted: dict[str, int] = {}
    for finding in findings:
        counted[finding.reason] = counted.get(finding.reason, 0) + 1
    return NetworkReport(
        network=network,
        topology=ruler.topology,
        role=ruler.role,
        persistent=ruler.effective,
        made_by=ruler.made_by,
        nads=len(defined),
        first_nads=tuple(sorted(each.ref for each in defined)[:NAMED]),
        free=min((subnet.free for subnet in subnets), default=0),
        utilisation=max((subnet.utilisation for subnet in subnets), default=0.0),
        elsewhere=sum(usage.outside(network).values()),
        outside=outside,
        complete=incomplete.isdisjoint(each.namespace for each in defined)
        and not unknown_holders(cluster.sharing, defined),
        subnets=subnets,
        findings=dict(sorted(counted.items())),
        reclaimable=sum(len(each.ips) for each in reclaim),
        reclaim=tuple(reclaim[:MOST_RECLAIMABLE]),
    )


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


def _ranked(cluster: Cluster, findings: list[Finding]) -> Generator[None, None, list[Reclaimable]]:
    """The safest first; of those the ones with most addresses, and the oldest."""
    found: list[Reclaimable] = []
    for at, finding in enumerate(findings):
        found += _reclaimable(cluster, finding)
        if at % _SLICE == 0:
            yield
    return (yield from in_order(found, _rank))


def _rank(each: Reclaimable) -> tuple[int, int, str, Ref]:
    return RECLAIMABLE[each.reason].rank, -len(each.ips), each.since, each.claim


def _reclaimable(cluster: Cluster, finding: Finding) -> Iterator[Reclaimable]:
    subject = finding.subject
    claim = cluster.get(IPAMClaim, subject.namespace, subject.name)
    if finding.reason not in RECLAIMABLE or claim is None or claim.uid != subject.uid or not claim.hosts:
        return
    if finding.reason == "OwnerlessClaim" and owner_lives(cluster, claim):
        return  # its VM exists, and needs the owner reference again
    loss = RECLAIMABLE[finding.reason].loss
    yield Reclaimable(subject, finding.reason, claim.hosts, loss, rfc3339(finding.since), finding.fingerprint)
