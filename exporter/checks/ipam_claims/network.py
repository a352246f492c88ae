"""A claim and its network: gone, elsewhere, or another one by now (ipamclaims C-06, C-07, C-09)."""

from __future__ import annotations

from ...findings import Finding, Severity
from .situation import Situation

__all__ = ["network_mismatch", "network_missing", "persistence_disabled"]


def network_mismatch(it: Situation) -> Finding | None:
    """C-09: the VM's interface refers to a NAD of another network. A running pod's own word goes first."""
    for key in _nads_in_use(it):
        nad = it.nad(key)
        if nad is None or not nad.network or nad.network == it.claim.network:
            continue
        bound = f"network {it.claim.network}" if it.claim.network else "no network"
        what = f"it is bound to {bound}, and its interface now refers to {nad.network} ({nad.namespace}/{nad.name})"
        return it.finding("NetworkMismatch", _severity(it), what, related=[nad.ref])
    return None


def _nads_in_use(it: Situation) -> list[str]:
    own = f"{it.claim.namespace}/{it.claim.name}"
    name = it.claim.name
    by_pods = [key for pod in it.pods if own in pod.claims for key, claim in pod.selections if claim == name]
    return by_pods or [nad for _, nad in it.interfaces]


def network_missing(it: Situation) -> Finding | None:
    """C-06, with its sub-code NetworkNotInNamespace. A NAD that can't be read may be the one."""
    claim = it.claim
    if not claim.network or it.unreadable_nad or (it.vm and not it.interfaces):
        return None  # without the interface it is a leak, C-10
    if not it.nads:
        what = (
            f"no NetworkAttachmentDefinition is of network {claim.network}; make it again with the same subnets or more"
        )
        return it.finding("NetworkMissing", _severity(it), what)
    here = any(nad.namespace == claim.namespace for nad in it.nads)
    elsewhere = any(key and key.partition("/")[0] != claim.namespace for _, key in it.interfaces)
    if here or elsewhere:
        return None  # an interface that refers to another namespace's NAD is C-21
    what = f"network {claim.network} has no NetworkAttachmentDefinition in namespace {claim.namespace} any more"
    return it.finding("NetworkNotInNamespace", _severity(it), what, related=[it.nads[0].ref])


def persistence_disabled(it: Situation) -> bool:
    """C-07: no NAD of the network lets claims count. It is reported once, of the network."""
    return bool(it.nads) and not it.effective


def _severity(it: Situation) -> Severity:
    return Severity.CRITICAL if it.runs else Severity.WARNING
