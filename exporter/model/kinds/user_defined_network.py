"""UserDefinedNetworks: a network that OVN-Kubernetes renders as a NAD of the same name in its namespace."""

from __future__ import annotations

from sys import intern

from .._user_defined import WireUserDefined, facts_of, trouble_of
from ..kind import ApiKind
from ..record import Record, identity

__all__ = ["KIND", "UserDefinedNetwork"]


class UserDefinedNetwork(Record, frozen=True, gc=False):
    network: str  # the name of the network, in the NADs that are rendered of it
    topology: str  # as NADs spell it: layer2, layer3, localnet
    role: str  # primary or secondary
    subnets: tuple[str, ...]  # canonical; none of layer 3
    persistent: bool  # its addresses shall outlive pods
    failed: str  # the condition that says that the network does not come about, or empty
    reason: str  # of that condition, as are the following
    message: str
    since: float | None
    flag_off: bool  # it fails since OVN-Kubernetes runs without --enable-persistent-ips


def _reduce(wire: WireUserDefined) -> UserDefinedNetwork:
    fields = identity(wire.metadata)
    facts, trouble = facts_of(wire.spec), trouble_of(wire.status)
    return UserDefinedNetwork(
        *fields,
        intern(f"{fields[0]}_{fields[1]}"),
        facts.topology,
        facts.role,
        facts.subnets,
        facts.persistent,
        trouble.failed,
        trouble.reason,
        trouble.message,
        trouble.since,
        trouble.flag_off,
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
