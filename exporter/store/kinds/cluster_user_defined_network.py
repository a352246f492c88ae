"""ClusterUserDefinedNetworks: networks that OVN-Kubernetes renders as a NAD in each selected namespace."""

from __future__ import annotations

from ..kind import ApiKind
from ..record import Wire, WireMeta
from .common.user_defined import Network, NetworkStatus, UserDefined, reduced

__all__ = ["KIND", "ClusterUserDefinedNetwork"]


class _Spec(Wire, frozen=True, gc=False):
    network: Network | None = None


class _ClusterUserDefinedNetwork(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: NetworkStatus | None = None


class ClusterUserDefinedNetwork(UserDefined, frozen=True, gc=False):
    pass


def _reduce(wire: _ClusterUserDefinedNetwork) -> ClusterUserDefinedNetwork:
    network = wire.spec.network if wire.spec else None
    return reduced(ClusterUserDefinedNetwork, wire.metadata, "cluster_udn", network, wire.status)


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
ClusterUserDefinedNetwork.KIND = KIND
