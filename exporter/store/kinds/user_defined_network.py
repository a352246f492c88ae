"""UserDefinedNetworks: a network that OVN-Kubernetes renders as a NAD of the same name in its namespace."""

from __future__ import annotations

from sys import intern

from ..kind import ApiKind
from ..record import Record, identity
from .common.user_defined import WireUserDefined, facts_of, failure_of

__all__ = ["KIND", "UserDefinedNetwork"]


class UserDefinedNetwork(Record, frozen=True, gc=False):
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


def _reduce(wire: WireUserDefined) -> UserDefinedNetwork:
    fields = identity(wire.metadata)
    facts, failure = facts_of(wire.spec), failure_of(wire.status)
    return UserDefinedNetwork(
        *fields,
        intern(f"{fields[0]}_{fields[1]}"),
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
    UserDefinedNetwork,
    group="k8s.ovn.org",
    plural="userdefinednetworks",
    wire=WireUserDefined,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
