"""What UserDefinedNetworks and ClusterUserDefinedNetworks have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from sys import intern
from typing import Any, NamedTuple, TypeVar

from ...facts.addresses import blocks
from ...facts.record import Record, Wire, WireCondition, WireMeta, epoch, identity
from ...facts.selector import Selector, WireSelector, selector_of
from ..kind import ApiKind

PROTECTION = "k8s.ovn.org/user-defined-network-protection"
"""The finalizer by which OVN-Kubernetes keeps a network, and each NAD that it rendered of it, while pods are on it."""

_MESSAGE = 200  # characters kept of a condition's message
_FLAG_OFF = "persistentips is disabled"  # OVN-Kubernetes' own words
_CREATED = ("NetworkCreated", "NetworkReady", "NetworkAllocationSucceeded")  # NetworkReady: of earlier releases
_MOST_HOLDERS = 100
_IN_USE = re.compile(r"in use by the following pods: \[+([^\]]*)")  # OVN-Kubernetes' own words, once for each NAD


class NetworkMeta(WireMeta, frozen=True, gc=False):
    finalizers: list[str | None] | None = None


class _Ipam(Wire, frozen=True, gc=False):
    mode: str | None = None
    lifecycle: str | None = None


class _Layer(Wire, frozen=True, gc=False):
    role: str | None = None
    subnets: list[str | None] | None = None  # of layer 3 they are objects, and not read
    ipam: _Ipam | None = None


class _Layer3(Wire, frozen=True, gc=False):
    role: str | None = None


class Network(Wire, frozen=True, gc=False):
    topology: str | None = None
    layer2: _Layer | None = None
    layer3: _Layer3 | None = None
    localnet: _Layer | None = None


class NetworkStatus(Wire, frozen=True, gc=False):
    conditions: list[WireCondition | None] | None = None


class WireUserDefined(Wire, frozen=True, gc=False):
    metadata: NetworkMeta = NetworkMeta()
    spec: Network | None = None
    status: NetworkStatus | None = None


class UserDefined(Record, frozen=True, gc=False):
    """A network that OVN-Kubernetes renders as NADs, of one namespace or of several."""

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
    holders: tuple[str, ...]  # the pods, by `namespace/name`, that the condition names as those that are still on it
    deleting: float | None
    finalizers: tuple[str, ...]


Kind = TypeVar("Kind", bound=UserDefined)


def reduced(
    record: type[Kind], wire: WireUserDefined, network: Network | None, prefix: str | None = None, **more: Any
) -> Kind:
    """The record of a network. Its name in NADs begins with `prefix`, without one with the object's namespace.

    `more` are the fields that only this kind has.
    """
    metadata, conditions = wire.metadata, (wire.status and wire.status.conditions) or ()
    fields = identity(metadata)
    failed, reason, message, since, flag_off, holders = _failure_of(conditions)
    return record(
        *fields,
        intern(f"{fields[0] if prefix is None else prefix}_{fields[1]}"),
        *_facts_of(network),
        failed,
        reason,
        message,
        since,
        flag_off,
        holders,
        deleting=epoch(metadata.deletion_timestamp),
        finalizers=tuple(intern(each) for each in metadata.finalizers or () if each),
        **more,
    )


class _Facts(NamedTuple):
    """As the fields of UserDefined."""

    topology: str
    role: str
    subnets: tuple[str, ...]
    persistent: bool


class _Failure(NamedTuple):
    """As the fields of UserDefined; all empty where no condition says that the network was not created."""

    failed: str
    reason: str
    message: str
    since: float | None
    flag_off: bool
    holders: tuple[str, ...]


def _facts_of(network: Network | None) -> _Facts:
    network = network or Network()
    topology = (network.topology or "").lower()
    flat = {"layer2": network.layer2, "localnet": network.localnet}.get(topology)
    layer = flat or network.layer3
    ipam = flat.ipam if flat else None
    return _Facts(
        intern(topology),
        "primary" if layer is not None and (layer.role or "").lower() == "primary" else "secondary",
        tuple(str(block) for block in blocks(text for text in (flat.subnets if flat else None) or () if text)),
        ipam is not None and ipam.lifecycle == "Persistent" and ipam.mode in (None, "Enabled"),
    )


def _failure_of(conditions: Iterable[WireCondition | None]) -> _Failure:
    for each in conditions:
        if each and each.type in _CREATED and each.status == "False":
            text = each.message or ""
            since, flag_off = epoch(each.last_transition_time), _FLAG_OFF in text.lower()
            return _Failure(
                intern(each.type), intern(each.reason or ""), text[:_MESSAGE], since, flag_off, _holders(text)
            )
    return _Failure("", "", "", None, False, ())


def _holders(message: str) -> tuple[str, ...]:
    """The pods that a condition names, each once."""
    named = (pod for part in _IN_USE.findall(message) for pod in part.split() if pod.count("/") == 1)
    return tuple(dict.fromkeys(named))[:_MOST_HOLDERS]


# UserDefinedNetworks: a network that OVN-Kubernetes renders as a NAD of the same name in its namespace.


class UserDefinedNetwork(UserDefined, frozen=True, gc=False):
    pass


def _udn(wire: WireUserDefined) -> UserDefinedNetwork:
    return reduced(UserDefinedNetwork, wire, wire.spec)


UDN = ApiKind(
    UserDefinedNetwork,
    group="k8s.ovn.org",
    plural="userdefinednetworks",
    wire=WireUserDefined,
    reduce=_udn,
    optional=True,
    dispensable=True,
)
UserDefinedNetwork.KIND = UDN


# ClusterUserDefinedNetworks: networks that OVN-Kubernetes renders as a NAD in each selected namespace.


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


def _cudn(wire: _ClusterUserDefinedNetwork) -> ClusterUserDefinedNetwork:
    spec = wire.spec or _Spec()
    found = selector_of(spec.namespace_selector)
    selector = found if found is not None and all(each.valid for each in found.requirements) else None
    defined = WireUserDefined(wire.metadata, status=wire.status)
    return reduced(ClusterUserDefinedNetwork, defined, spec.network, "cluster_udn", selector=selector)


CUDN = ApiKind(
    ClusterUserDefinedNetwork,
    group="k8s.ovn.org",
    plural="clusteruserdefinednetworks",
    wire=_ClusterUserDefinedNetwork,
    reduce=_cudn,
    namespaced=False,
    optional=True,
    dispensable=True,
)
ClusterUserDefinedNetwork.KIND = CUDN
