"""What UserDefinedNetworks and ClusterUserDefinedNetworks have in common."""

from __future__ import annotations

from sys import intern
from typing import NamedTuple

from ....domain.networks.cidr import blocks
from ...record import Wire, WireCondition, WireMeta, epoch

__all__ = ["Failure", "Layer", "Network", "Status", "WireUserDefined", "facts_of", "failure_of"]

_MESSAGE = 200  # characters kept of a condition's message
_FLAG_OFF = "persistentips is disabled"  # OVN-Kubernetes' own words
_CREATED = ("NetworkCreated", "NetworkAllocationSucceeded")


class _Ipam(Wire, frozen=True, gc=False):
    mode: str | None = None
    lifecycle: str | None = None


class Layer(Wire, frozen=True, gc=False):
    role: str | None = None
    subnets: list[str | None] | None = None  # of layer 3 they are objects, and not read
    ipam: _Ipam | None = None


class _Layer3(Wire, frozen=True, gc=False):
    role: str | None = None


class Network(Wire, frozen=True, gc=False):
    topology: str | None = None
    layer2: Layer | None = None
    layer3: _Layer3 | None = None
    localnet: Layer | None = None


class Status(Wire, frozen=True, gc=False):
    conditions: list[WireCondition | None] | None = None


class WireUserDefined(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: Network | None = None
    status: Status | None = None


class Facts(NamedTuple):
    topology: str  # as NADs spell it: layer2, layer3, localnet
    role: str  # primary or secondary
    subnets: tuple[str, ...]  # canonical; none of layer 3
    persistent: bool


class Failure(NamedTuple):
    """The condition that says that the network was not created; all empty where none does."""

    failed: str
    reason: str
    message: str
    since: float | None
    flag_off: bool  # it fails because OVN-Kubernetes runs without --enable-persistent-ips


def facts_of(network: Network | None) -> Facts:
    network = network or Network()
    topology = (network.topology or "").lower()
    flat = {"layer2": network.layer2, "localnet": network.localnet}.get(topology)
    layer = flat or network.layer3
    ipam = flat.ipam if flat else None
    return Facts(
        intern(topology),
        "primary" if layer is not None and (layer.role or "").lower() == "primary" else "secondary",
        tuple(str(block) for block in blocks(text for text in (flat.subnets if flat else None) or () if text)),
        ipam is not None and ipam.lifecycle == "Persistent" and ipam.mode in (None, "Enabled"),
    )


def failure_of(status: Status | None) -> Failure:
    for each in (status and status.conditions) or ():
        if each and each.type in _CREATED and each.status == "False":
            text = each.message or ""
            since, flag_off = epoch(each.last_transition_time), _FLAG_OFF in text.lower()
            return Failure(intern(each.type), intern(each.reason or ""), text[:_MESSAGE], since, flag_off)
    return Failure("", "", "", None, False)
