"""UserDefinedNetworks: a network that OVN-Kubernetes renders as a NAD of the same name in its namespace."""

from __future__ import annotations

from ..kind import ApiKind
from .common.user_defined import UserDefined, WireUserDefined, reduced


class UserDefinedNetwork(UserDefined, frozen=True, gc=False):
    pass


def _reduce(wire: WireUserDefined) -> UserDefinedNetwork:
    return reduced(UserDefinedNetwork, wire, wire.spec)


KIND = ApiKind(
    UserDefinedNetwork,
    group="k8s.ovn.org",
    plural="userdefinednetworks",
    wire=WireUserDefined,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
UserDefinedNetwork.KIND = KIND
