"""What UserDefinedNetworks and ClusterUserDefinedNetworks have in common."""

from __future__ import annotations

from sys import intern
from typing import NamedTuple, TypeVar

from ....domain.networks.cidr import blocks
from ...record import Record, Wire, WireCondition, WireMeta, epoch, identity

__all__ = ["Network", "NetworkStatus", "UserDefined", "WireUserDefined", "reduced"]

_MESSAGE = 200  # characters kept of a condition's message
_FLAG_OFF = "persistentips is disabled"  # OVN-Kubernetes' own words
_CREATED = ("NetworkCreated", "NetworkAllocationSucceeded")


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
    metadata: WireMeta = WireMeta()
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


Kind = TypeVar("Kind", bound=UserDefined)


def reduced(
    record: type[Kind], metadata: WireMeta, prefix: str | None, network: Network | None, status: NetworkStatus | None
) -> Kind:
    """The record of a network. Its name in NADs begins with `prefix`, without one with the object's namespace."""
    fields = identity(metadata)
    name = intern(f"{fields[0] if prefix is None else prefix}_{fields[1]}")
    failed, reason, message, since, flag_off = _failure_of(status)
    return record(*fields, name, *_facts_of(network), failed, reason, message, since, flag_off)


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


def _failure_of(status: NetworkStatus | None) -> _Failure:
    for each in (status and status.conditions) or ():
        if each and each.type in _CREATED and each.status == "False":
            text = each.message or ""
            since, flag_off = epoch(each.last_transition_time), _FLAG_OFF in text.lower()
            return _Failure(intern(each.type), intern(each.reason or ""), text[:_MESSAGE], since, flag_off)
    return _Failure("", "", "", None, False)
