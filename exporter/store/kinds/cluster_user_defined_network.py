"""ClusterUserDefinedNetworks: networks that OVN-Kubernetes renders as a NAD in each selected namespace."""

from __future__ import annotations

from collections.abc import Mapping

from ...facts.record import Wire
from ...facts.selector import Selector, WireSelector, selector_of
from ..kind import ApiKind
from .common.user_defined import Network, NetworkMeta, NetworkStatus, UserDefined, WireUserDefined, reduced


class _Spec(Wire, frozen=True, gc=False):
    namespace_selector: WireSelector | None = None
    network: Network | None = None


class _ClusterUserDefinedNetwork(Wire, frozen=True, gc=False):
    metadata: NetworkMeta = NetworkMeta()
    spec: _Spec | None = None
    status: NetworkStatus | None = None


class ClusterUserDefinedNetwork(UserDefined, frozen=True, gc=False):
    selector: Selector | None  # of namespaces; None where it selects none, as one that Kubernetes can't take

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels, and not being deleted, gets a NAD of it."""
        return self.selector is not None and self.selector.matches(labels)


def _reduce(wire: _ClusterUserDefinedNetwork) -> ClusterUserDefinedNetwork:
    spec = wire.spec or _Spec()
    found = selector_of(spec.namespace_selector)
    selector = found if found is not None and all(each.valid for each in found.requirements) else None
    defined = WireUserDefined(wire.metadata, status=wire.status)
    return reduced(ClusterUserDefinedNetwork, defined, spec.network, "cluster_udn", selector=selector)


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
