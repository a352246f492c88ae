"""Whether a network needs the addresses of an IPAMClaim: by the check that reports a network as short of them."""

from __future__ import annotations

from exporter.checks.networks import ipam_networks
from exporter.store.kind import ApiKind
from exporter.store.kinds.ipam_claim import IPAMClaim

from ...plan import Refused
from ...remediation import Scene

_SHORT = "PoolPressure"
ADDRESSES_NEEDED = {
    "addresses_needed": f"the IPAMClaim holds an address, and its network is short of them: {_SHORT} is found of it"
}
READS = tuple(kind for kind in ipam_networks.CHECK.reads if isinstance(kind, ApiKind))
INDEXES = ipam_networks.CHECK.indexes


def unneeded(scene: Scene, claim: IPAMClaim) -> Refused | None:
    if not claim.hosts:
        return Refused("addresses_needed", f"{claim.ref} holds no address")
    found = ipam_networks.CHECK.find(scene.view(ipam_networks.CHECK, claim.network))
    if any(each is not None and each.reason == _SHORT for each in found):
        return None
    return Refused("addresses_needed", f"{_SHORT} is not found of network {claim.network or '(none)'}")
