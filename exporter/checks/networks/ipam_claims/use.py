"""How an IPAMClaim is used: its interface was removed, it has no address, its pod does not reference it, it is idle."""

from __future__ import annotations

import msgspec

from ....domain.acts import Act
from ....findings.finding import Finding, Since
from ....findings.pages import command
from ....findings.severity import Severity
from ....store.kinds.pod import Pod
from .._address_holders import withheld
from .addresses import requested_by
from .context import TEXTS, ClaimContext, Moment, percent
from .owner import OwnerState

# The causes of an empty claim that have a message of their own; any other is OVN-Kubernetes' own reason.
_SEEN = ("NadUndecodable", "NetworkMissing", "CrossNamespaceNad", "SameNadTwice", "NotReferenced")
_UNKNOWN = "unknown"
# The causes that have a next step of their own.
_ACTED_ON = (*_SEEN, "SubnetExhausted", "SubnetExhaustedPrimary", "annotate")
_FILLING = 0.8  # of the network's addresses
_EVENTS = "kubectl get events -n NAMESPACE --field-selector involvedObject.name=LAUNCHERPOD"


def leaked_claim(ctx: ClaimContext) -> Finding | None:
    """Neither the VM nor its VMI has the interface, and no pod uses the claim.

    An interface whose unplug was requested is still in the spec, so its claim is not leaked yet.
    """
    if ctx.owner.state is not OwnerState.LIVE or ctx.vm is None or ctx.interfaces or ctx.held:
        return None
    if ctx.claim.mislabelled:
        return None  # the VM that its label names may use it
    full = bool(ctx.claim.hosts) and ctx.utilisation >= _FILLING
    what = TEXTS.message(
        "LeakedClaim",
        "full" if full else "",
        vm=ctx.vm.ref,
        addresses=ctx.addresses,
        network=ctx.claim.network,
        share=percent(ctx.utilisation) if full else "",
    )
    return ctx.finding("LeakedClaim", Severity.WARNING if full else Severity.INFO, what, related=[ctx.vm.ref])


def empty_claim(ctx: ClaimContext) -> Finding | None:
    """The VM runs, or its pod has a node, and the network has allocated no address."""
    if ctx.claim.hosts:
        return None
    waiting = [pod for pod in ctx.pods if pod.node]
    running = ctx.vmi is not None and ctx.vmi.phase == "Running"
    if not (running or waiting):
        return None
    cause = _cause(ctx, waiting)
    kept = _withheld(ctx) if cause == "IPAddressConflict" else {}
    has_address = any(nad in ctx.network.keys for pod in waiting for nad, _, _ in pod.known_addresses)
    unwritten = has_address and cause == _UNKNOWN
    annotate = has_address or cause == "NotReferenced"
    found = ctx.finding(
        "EmptyClaim",
        Severity.CRITICAL if any(pod.phase == "Pending" for pod in waiting) else Severity.WARNING,
        TEXTS.message("EmptyClaim", "unwritten", network=ctx.claim.network)
        if unwritten
        else _why_empty(ctx, cause, kept),
        _empty_since(ctx, waiting),
        related=[pod.ref for pod in waiting],
        next_step=_step(ctx, "annotate" if unwritten else cause),
        commands=(
            command("show_claim"),
            *([_EVENTS] if waiting else []),
            *([command("network_usage")] if cause == "SubnetExhausted" else []),
            *([command("claims_of_network")] if cause in ("SubnetExhausted", "IPAddressConflict") else []),
            *([command("edit_its_vm")] if cause == "IPAddressConflict" else []),
            command("nads_of_network"),
            *([command("network_stack")] if cause != "SubnetExhausted" else []),
            *([command("nudge_pod")] if annotate else []),
        ),
        cause=cause,
        withheldBy=kept,
    )
    return msgspec.structs.replace(found, does=(Act.RESTART,)) if cause == "IPAddressConflict" else found


def _why_empty(ctx: ClaimContext, cause: str, kept: dict[str, str]) -> str:
    variant = cause if cause in _SEEN else "" if cause == _UNKNOWN else "taken" if kept else "reported"
    taken = ", ".join(f"{ip} is {by}" for ip, by in kept.items())
    return TEXTS.message("EmptyClaim", variant, network=ctx.claim.network, reported=cause, taken=taken)


def _step(ctx: ClaimContext, cause: str) -> str:
    """Empty where it is the one that the reason declares."""
    if cause == "SubnetExhausted" and ctx.ruler is not None and ctx.ruler.role == "primary":
        cause = "SubnetExhaustedPrimary"
    if cause == "IPAddressConflict":
        return TEXTS.next_if_short("EmptyClaim", cause, f"{cause}Unnamed", vm=ctx.owner.ref.name)
    return TEXTS.next("EmptyClaim", cause) if cause in _ACTED_ON else ""


def _withheld(ctx: ClaimContext) -> dict[str, str]:
    requested = requested_by(ctx) if ctx.vmi is not None and not ctx.vmi.unreadable else None
    return withheld(ctx.view, ctx.ruler, ctx.claim, sorted(requested)) if requested and ctx.ruler is not None else {}


def _empty_since(ctx: ClaimContext, waiting: list[Pod]) -> Moment:
    """Since its claim, its VMI, and a pod that has a node were all there."""
    times: list[Moment] = [(ctx.claim.created, Since.CREATION)]
    if ctx.vmi is not None:
        times.append((ctx.vmi.created, Since.CREATION))
    starts = [(pod.scheduled, Since.CONDITION) if pod.scheduled else (pod.created, Since.CREATION) for pod in waiting]
    times += sorted(((at, source) for at, source in starts if at is not None), key=lambda each: each[0] or 0.0)[:1]
    return max(times, key=lambda each: each[0] or 0.0)


def _cause(ctx: ClaimContext, pods: list[Pod]) -> str:
    keys = [nad for _, nad in ctx.interfaces if nad]
    if ctx.claim.refused:
        return ctx.claim.refused
    if not ctx.network.nads:
        return "NadUndecodable" if ctx.unreadable_nad else "NetworkMissing"
    if any(key.partition("/")[0] != ctx.claim.namespace for key in keys):
        return "CrossNamespaceNad"
    if any(sum(key == other for other, _ in pod.selections) > 1 for pod in pods for key in keys):
        return "SameNadTwice"
    if pods and not any(ctx.key in pod.claims for pod in pods):
        return "NotReferenced"
    return _UNKNOWN


def not_referenced(ctx: ClaimContext) -> Finding | None:
    """A pod of the VM is on the claim's network without referring to a claim there."""
    if not ctx.network.effective:
        return None
    for pod in ctx.pods:
        if ctx.refers(pod) or not _on_network(ctx, pod):
            continue
        what = TEXTS.message("NotReferenced", pod=pod.ref, network=ctx.claim.network)
        times = [at for at in (pod.created, ctx.claim.created) if at is not None]
        since = (max(times, default=None), Since.CREATION)
        return ctx.finding("NotReferenced", Severity.WARNING, what, since, related=[pod.ref], launcherPod=pod.name)
    return None


def _on_network(ctx: ClaimContext, pod: Pod) -> bool:
    return _on_primary(pod, ctx.network.primary) or _on_secondary(pod, ctx.network.secondary)


def _on_secondary(pod: Pod, keys: frozenset[str]) -> bool:
    """Whether it is attached to one of these NADs, and by no attachment refers to a claim there."""
    attached = [claim for key, claim in pod.selections if key in keys]
    return bool(attached) and not any(attached)


def _on_primary(pod: Pod, keys: frozenset[str]) -> bool:
    """Whether it has an address of one of these NADs, which no attachment selects, and refers to no claim for it."""
    by_attachments = {f"{key.partition('/')[0]}/{claim}" for key, claim in pod.selections if claim}
    return any(nad in keys for nad, _, _ in pod.addresses) and by_attachments.issuperset(pod.claims)


def idle_reservation(ctx: ClaimContext) -> Finding | None:
    """The VM's condition says since when it has no VMI."""
    vm = ctx.vm
    if ctx.owner.state is not OwnerState.LIVE or vm is None or vm.stopped is None or ctx.vmi or not ctx.claim.hosts:
        return None
    what = TEXTS.message("IdleReservation", vm=vm.ref, addresses=ctx.addresses, network=ctx.claim.network)
    return ctx.finding("IdleReservation", Severity.INFO, what, (vm.stopped, Since.CONDITION), related=[vm.ref])
