"""An IPAMClaim and its network: missing, missing in its namespace, or not the one that the VM uses now."""

from __future__ import annotations

from ....findings.finding import Finding, Severity, Since
from .context import UNKNOWN_MOMENT, ClaimContext, Moment


def network_mismatch(ctx: ClaimContext) -> Finding | None:
    """The VM's interface refers to a NAD of another network. What a running pod says goes first."""
    for key, since in _nads_in_use(ctx):
        nad = ctx.nad(key)
        if nad is None or not nad.network or nad.network == ctx.claim.network:
            continue
        bound = f"network {ctx.claim.network}" if ctx.claim.network else "no network"
        what = f"it is of {bound}, but its interface now refers to {nad.network} (NAD {nad.namespace}/{nad.name})"
        return ctx.finding("NetworkMismatch", _severity(ctx), what, since, related=[nad.ref])
    return None


def _nads_in_use(ctx: ClaimContext) -> list[tuple[str, Moment]]:
    """The NADs that the claim is used with, and since when; what the VM will use only matters while it is stopped."""
    by_pods: list[tuple[str, Moment]] = [
        (key, (pod.created, Since.CREATION)) for pod in ctx.pods for key in ctx.attachments(pod)
    ]
    if by_pods:
        return by_pods
    there = ctx.interfaces_of(ctx.vmi) if ctx.runs else []
    return [(nad, UNKNOWN_MOMENT) for _, nad in there or ctx.interfaces]


def network_missing(ctx: ClaimContext) -> Finding | None:
    """In the cluster, or in the claim's namespace. A NAD that can't be decoded may be the one."""
    claim = ctx.claim
    if not claim.network or ctx.unreadable_nad or (ctx.vm and not ctx.interfaces):
        return None  # without the interface the claim is leaked
    if not ctx.network.nads:
        return ctx.finding("NetworkMissing", _severity(ctx), f"no NAD in the cluster is of network {claim.network}")
    here = claim.namespace in ctx.network.namespaces
    elsewhere = any(key and key.partition("/")[0] != claim.namespace for _, key in ctx.interfaces)
    if here or elsewhere:
        return None  # that an interface refers to another namespace's NAD is reported of the VM
    what = f"network {claim.network} no longer has a NAD in namespace {claim.namespace}"
    return ctx.finding("NetworkNotInNamespace", _severity(ctx), what, related=[ctx.network.nads[0].ref])


def persistence_disabled(ctx: ClaimContext) -> bool:
    """No NAD of the network allows persistent IPs. It is reported once, of the network."""
    return bool(ctx.network.nads) and not ctx.network.effective


def _severity(ctx: ClaimContext) -> Severity:
    return Severity.CRITICAL if ctx.runs else Severity.WARNING
