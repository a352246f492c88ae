"""Deployments of the network stack: whether what creates and honours IPAMClaims runs."""

from __future__ import annotations

from sys import intern

from ..kind import ApiKind, Reach
from ..record import Record, Wire, WireCondition, WireMeta, epoch, identity

__all__ = ["CLAIM_CONTROLLER", "KIND", "NETWORK_CONTROLLER", "Deployment"]

CLAIM_CONTROLLER = "ipam-extensions"
NETWORK_CONTROLLER = "OVN-Kubernetes"
_ROLES = {
    "kubevirt-ipam-controller-manager": CLAIM_CONTROLLER,
    "ovnkube-control-plane": NETWORK_CONTROLLER,
    "ovnkube-master": NETWORK_CONTROLLER,
}


class _Spec(Wire, frozen=True, gc=False):
    replicas: int | None = None


class _Status(Wire, frozen=True, gc=False):
    ready_replicas: int | None = None
    conditions: list[WireCondition | None] | None = None


class _Deployment(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class Deployment(Record, frozen=True, gc=False):
    """A Deployment with a role in the network stack; others are not kept."""

    role: str
    wanted: int
    ready: bool
    since: float | None  # of its condition Available


def _reduce(wire: _Deployment) -> Deployment | None:
    role = _ROLES.get(wire.metadata.name or "")
    if role is None:
        return None
    status, wanted = wire.status or _Status(), wire.spec.replicas if wire.spec else None
    available = next((each for each in status.conditions or () if each and each.type == "Available"), WireCondition())
    return Deployment(
        *identity(wire.metadata),
        role=intern(role),
        wanted=1 if wanted is None else wanted,
        ready=bool(status.ready_replicas),
        since=epoch(available.last_transition_time),
    )


KIND = ApiKind(Deployment, Reach.CLUSTER, group="apps", plural="deployments", wire=_Deployment, reduce=_reduce)
