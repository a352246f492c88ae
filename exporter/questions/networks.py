"""IP usage of networks, and which addresses are reclaimable.

Pure: the counts come from `AddressUsage`, the reclaimable IPAMClaims from open findings. What deleting an IPAMClaim
loses is said with each, since it cannot be undone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from ..counts.networks import AddressUsage, SubnetReport, owner_lives, subnet_reports
from ..domain.networks import users_of
from ..engine.engine import Engine
from ..facts.naming import NAMED, named
from ..facts.record import Ref
from ..findings.finding import Finding
from ..store.cluster import Cluster
from ..store.indexes.networks import ATTACHMENT, INTERFACE, NAD, ON_POD_NETWORK, UNKNOWN_HOLDER, unknown_holders
from ..store.kinds.ipam_claim import IPAMClaim
from ..store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..store.kinds.pod import Pod
from ..store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.reader import Reading
from ..store.source import Undecodable, unseen
from .asked import NetworksQuery
from .nearest import meant, shortened
from .question import NotThereError, Question, in_order
from .times import rfc3339

# The state of a network: whether it is there, is being deleted or was never created, and why.

Defined = UserDefinedNetwork | ClusterUserDefinedNetwork
_DEFINED: tuple[type[UserDefinedNetwork], type[ClusterUserDefinedNetwork]] = (
    UserDefinedNetwork,
    ClusterUserDefinedNetwork,
)

STATES = {
    "ready": "ready",
    "deleting": "being deleted",
    "notCreated": "not created",
    "nadMissing": "NAD missing",
    "notServed": "not served",
    "unknown": "unknown",
}
"""By the word in the report, as people read it."""


class NetworkState(msgspec.Struct, frozen=True, rename="camel"):
    """`state` is one of STATES; `why` says more of any but `ready`, and is empty there.

    `holders` are VMs and pods that are on a network that is being deleted, the first of them; `since` is when that was
    asked for, or when the condition changed that says that it was not created.
    """

    state: str
    why: str = ""
    holders: tuple[str, ...] = ()
    since: str = ""


class NetworkStates:
    """Of one report: what all networks have in common is looked at once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        blind = unseen(cluster, _DEFINED)
        self._seen = tuple(kind for kind in _DEFINED if kind.__name__ not in blind)
        names = {kind.__name__ for kind in _DEFINED}
        self._blind = bool(blind) or any(each.kind in names for each in cluster.all(Undecodable))
        # Earlier releases of OVN-Kubernetes write no network ID on any NAD.
        self._accepts = any(each.accepted for each in cluster.all(NetworkAttachmentDefinition))

    def defined(self) -> Iterator[Defined]:
        """The user-defined networks that can be seen."""
        for kind in self._seen:
            yield from self._cluster.all(kind)

    def of(self, network: str, nads: Sequence[NetworkAttachmentDefinition]) -> NetworkState:
        """`nads` are all of the network."""
        defined = [each for each in self._cluster.sharing(NAD, network) if isinstance(each, self._seen)]
        for each in defined:
            if each.deleting is not None:
                return self._deleting(nads, each.deleting, each.holders)
        if nads and all(nad.deleting is not None for nad in nads) and not defined:
            return self._deleting(nads, min(nad.deleting or 0.0 for nad in nads))
        for each in defined:
            if each.failed:
                why = f"{each.reason}: {each.message}" if each.message else each.reason
                return NetworkState("notCreated", why, since=rfc3339(each.since))
        if defined and not nads:
            return NetworkState("nadMissing", f"no namespace has a NAD of {defined[0].ref}")
        if not defined and any(nad.made_by for nad in nads):
            return _unknown("the network of which its NADs were rendered", seen=not self._blind)
        if not any(nad.accepted for nad in nads):
            return self._not_accepted()
        return NetworkState("ready")

    def _deleting(
        self, nads: Sequence[NetworkAttachmentDefinition], since: float, said: Sequence[str] = ()
    ) -> NetworkState:
        """`said` are the pods that a condition names."""
        users = users_of(self._cluster.sharing, nads)
        holders = users.holders or tuple(f"pod {pod}" for pod in said)
        without = [ref.path for ref in (*users.starting, *users.waiting)]
        parts = [f"held by {named(holders)}"] if holders else ["no pod is on it"]
        parts += [f"{named(without)} can't start once it is gone"] if without else []
        return NetworkState("deleting", "; ".join(parts), holders[:NAMED], rfc3339(since))

    def _not_accepted(self) -> NetworkState:
        if self._accepts:
            return NetworkState("notServed", "OVN-Kubernetes has accepted no NAD of it")
        return NetworkState("unknown", "OVN-Kubernetes says of no NAD whether it has accepted it")


def _unknown(what: str, *, seen: bool) -> NetworkState:
    return NetworkState("unknown", f"{what} is not there" if seen else f"{what} can't be seen")


# Addresses of a network that deleting an IPAMClaim releases, and what that loses.

MOST_RECLAIMABLE = 100
SLICE = 500  # findings looked at between two looks at the event loop


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


class Reclaimable(msgspec.Struct, frozen=True, rename="camel"):
    claim: Ref
    reason: str
    ips: tuple[str, ...]
    loss: str
    since: str
    fingerprint: str
    since_source: str


def ranked(cluster: Cluster, findings: list[Finding]) -> Generator[None, None, list[Reclaimable]]:
    """The safest first; of those the ones with most addresses, and the oldest."""
    found: list[Reclaimable] = []
    for at, finding in enumerate(findings):
        found += _reclaimable(cluster, finding)
        if at % SLICE == 0:
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
    yield Reclaimable(
        subject,
        finding.reason,
        claim.hosts,
        loss,
        rfc3339(finding.since),
        finding.fingerprint,
        finding.since_source.value,
    )


READER = Reading(
    "networks",
    (
        NetworkAttachmentDefinition.KIND,
        IPAMClaim.KIND,
        Pod.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        UserDefinedNetwork.KIND,
        ClusterUserDefinedNetwork.KIND,
    ),
    (*AddressUsage.INDEXES, UNKNOWN_HOLDER, ATTACHMENT, INTERFACE, ON_POD_NETWORK),
)


class NetworkReport(msgspec.Struct, frozen=True, rename="camel"):
    """`free` and `utilisation` are of the fullest subnet, since a pod takes an address of each.

    It is not `complete` while an object is undecodable in a namespace with a NAD of it, or it can't be read which
    addresses a pod on it has. `outside` counts, by place and
    use, the addresses that are held and that the network would not allocate dynamically; `elsewhere` is all of them.
    A network of which there is no NAD has no subnets here.
    """

    network: str
    topology: str
    role: str
    persistent: bool
    made_by: str
    state: NetworkState
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


def steps(
    cluster: Cluster, usage: AddressUsage, findings: Iterable[Finding], generation: int, only: str = ""
) -> Generator[None, None, Networks]:
    """The fullest first; stops after each few findings or a network, so that others get their turn. What changed since
    `usage` was last settled is not counted yet.
    """
    blind = unseen(cluster, AddressUsage.KINDS)
    kinds = {kind.__name__ for kind in AddressUsage.KINDS}
    incomplete = frozenset(
        undecodable.namespace for undecodable in cluster.all(Undecodable) if undecodable.kind in kinds
    )
    by_network: dict[str, list[Finding]] = {}
    for at, finding in enumerate(findings):
        by_network.setdefault(finding.network, []).append(finding)
        if at % SLICE == 0:
            yield
    reports, states = [], NetworkStates(cluster)
    for network in () if blind else tuple(usage.networks()):
        if only in ("", network):
            found = by_network.get(network, [])
            reclaim = yield from ranked(cluster, found)
            reports.append(_network(cluster, usage, network, found, reclaim, incomplete, states))
            yield
    there = set(usage.networks())
    for defined in () if blind else tuple(states.defined()):
        if only in ("", defined.network) and defined.network not in there:
            reports.append(_without_nad(defined, by_network.get(defined.network, []), states))
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
    states: NetworkStates,
) -> NetworkReport:
    ruler = usage.ruling(network)
    defined = [each for each in cluster.sharing(NAD, network) if isinstance(each, NetworkAttachmentDefinition)]
    subnets = tuple(subnet_reports(usage, network))
    outside: dict[str, dict[str, int]] = {}
    for (place, use), count in usage.outside(network).items():
        outside.setdefault(place.value, {})[use.value] = count
    return NetworkReport(
        network=network,
        topology=ruler.topology,
        role=ruler.role,
        persistent=ruler.effective,
        made_by=ruler.made_by,
        state=states.of(network, defined),
        nads=len(defined),
        first_nads=tuple(sorted(each.ref for each in defined)[:NAMED]),
        free=min((subnet.free for subnet in subnets), default=0),
        utilisation=max((subnet.utilisation for subnet in subnets), default=0.0),
        elsewhere=sum(usage.outside(network).values()),
        outside=outside,
        complete=incomplete.isdisjoint(each.namespace for each in defined)
        and not unknown_holders(cluster.sharing, defined),
        subnets=subnets,
        findings=_counted(findings),
        reclaimable=sum(len(each.ips) for each in reclaim),
        reclaim=tuple(reclaim[:MOST_RECLAIMABLE]),
    )


def _without_nad(
    defined: UserDefinedNetwork | ClusterUserDefinedNetwork, findings: list[Finding], states: NetworkStates
) -> NetworkReport:
    return NetworkReport(
        network=defined.network,
        topology=defined.topology,
        role=defined.role,
        persistent=False,
        made_by=defined.ref.kind,
        state=states.of(defined.network, ()),
        nads=0,
        first_nads=(),
        free=0,
        utilisation=0.0,
        elsewhere=0,
        outside={},
        complete=True,
        subnets=(),
        findings=_counted(findings),
        reclaimable=0,
        reclaim=(),
    )


def _counted(findings: list[Finding]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for finding in findings:
        counted[finding.reason] = counted.get(finding.reason, 0) + 1
    return dict(sorted(counted.items()))


def chosen(found: Networks, asked: NetworksQuery) -> Networks:
    """Of all networks the one that is asked for. Raises NotThereError."""
    left = tuple(each for each in found.networks if asked.network in ("", each.network))
    if asked.network and not left and not found.unseen:
        names = (each.network for each in found.networks)
        there = meant(asked.network, names, "networks")
        raise NotThereError(f"no network is called {shortened(asked.network)!r}; {there}")
    return msgspec.structs.replace(found, networks=left)


def _answered(engine: Engine, usage: AddressUsage, asked: NetworksQuery) -> Generator[None, None, Networks]:
    yield from usage.settle()
    return (yield from steps(engine.cluster, usage, list(engine.findings()), engine.generation, asked.network))


QUESTION = Question("networks", NetworksQuery, Networks, _answered, counted=AddressUsage)
