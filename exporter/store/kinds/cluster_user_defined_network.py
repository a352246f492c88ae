"""ClusterUserDefinedNetworks: networks that OVN-Kubernetes renders as a NAD in each selected namespace."""

from __future__ import annotations

from sys import intern

from ..kind import ApiKind
from ..record import Record, Wire, WireMeta, identity
from .common.user_defined import Network, Status, facts_of, failure_of

__all__ = ["KIND", "ClusterUserDefinedNetwork"]


class _Spec(Wire, frozen=True, gc=False):
    network: Network | None = None


class _ClusterUserDefinedNetwork(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: Status | None = None


class ClusterUserDefinedNetwork(Record, frozen=True, gc=False):
    network: str  # the name of the network, in the NADs that are rendered of it
    topology: str  # as NADs spell it: layer2, layer3, localnet
    role: str  # primary or secondary
    subnets: tuple[str, ...]  # canonical; none of layer 3
    persistent: bool  # it requests persistent IPs
    failed: str  # the condition that says that the network was not created, or empty
    reason: str  # of that condition, as are the following
    message: str
    since: float | None
    flag_off: bool  # it fails because OVN-Kubernetes runs without --enable-persistent-ips


def _reduce(wire: _ClusterUserDefinedNetwork) -> ClusterUserDefinedNetwork:
    fields = identity(wire.metadata)
    facts, failure = facts_of(wire.spec.network if wire.spec else None), failure_of(wire.status)
    return ClusterUserDefinedNetwork(
        *fields,
        intern(f"cluster_udn_{fields[1]}"),
        facts.topology,
        facts.role,
        facts.subnets,
        facts.persistent,
        failure.failed,
        failure.reason,
        failure.message,
        failure.since,
        failure.flag_off,
    )


KIND = ApiKind(
    ClusterUserDefinedNetwork,
    group="k8s.ovn.org",
    plural="clusteruserdefinednetworks",
    wire=_ClusterUserDefinedNetwork,
    reduce=_reduce,
    namespaced=False,
    optional=True,
    dispensable=True,
)
