"""IPAMClaims and their VMs: the owner is gone, was recreated or never set; what holds a claim in deletion."""

from __future__ import annotations

from ....facts.naming import kind_word
from ....findings.finding import Finding, Since
from ....findings.severity import Severity
from ....store.kinds.ipam_claim import FINALIZER
from .context import TEXTS, UNKNOWN_MOMENT, ClaimContext, Moment, percent
from .owner import OwnerState

_NEARLY_FULL = 0.9  # of the network's addresses
_OWNER_DELETING = "StuckTerminatingOwnerDeleting"


def foreign_claim(ctx: ClaimContext) -> Finding:
    """Of a claim that KubeVirt did not create; one that a running launcher pod refers to is in use unprotected."""
    running = [pod for pod in ctx.holders if pod.domain and pod.phase == "Running" and ctx.refers(pod)]
    if not running:
        return ctx.finding("ForeignClaim", Severity.INFO, TEXTS.message("ForeignClaim"))
    variant = "foreign" if ctx.claim.deleting is None else "ending"
    return ctx.finding(
        "UnprotectedClaim",
        Severity.WARNING,
        TEXTS.message("UnprotectedClaim", variant, pod=running[0].ref),
        related=[pod.ref for pod in running],
        next_step=TEXTS.next("UnprotectedClaim", variant),
        launcherPod=running[0].name,
    )


def terminating_namespace(ctx: ClaimContext) -> Finding | None:
    """While the VM, its VMI or a pod is there, all that is missing or in deletion goes with the namespace."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is None or FINALIZER not in claim.finalizers:
        return None
    if left_in_namespace(ctx):
        holder = owner.running_vmi or (ctx.users[0].ref if ctx.users else owner.replacement or owner.ref)
        what = TEXTS.message(_OWNER_DELETING, "namespace", holder=holder)
        next_step = "" if owner.running_vmi or ctx.users else TEXTS.next(_OWNER_DELETING, "vm")
        return _stuck(ctx, _OWNER_DELETING, Severity.INFO, what, next_step=next_step)
    return _gone(ctx, Severity.CRITICAL, "namespace")


def left_in_namespace(ctx: ClaimContext) -> bool:
    """Whether its VM, VMI or a pod that uses it is still there."""
    return ctx.owner.state is not OwnerState.GONE or ctx.owner.running_vmi is not None or bool(ctx.users)


def stuck_terminating(ctx: ClaimContext) -> Finding | None:
    """With its finalizer still on it; one whose VM was recreated has a reason of its own."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is None or FINALIZER not in claim.finalizers or owner.state is OwnerState.REPLACED:
        return None
    if owner.state is OwnerState.LIVE:
        what = TEXTS.message("StuckTerminatingDeletedByHand", owner=owner.ref, finalizer=FINALIZER)
        return _stuck(ctx, "StuckTerminatingDeletedByHand", Severity.WARNING, what)
    if owner.running_vmi or ctx.in_use:
        variant = "gone" if owner.state is OwnerState.GONE else ""
        holder = owner.running_vmi or ctx.users[0].ref
        what = TEXTS.message(_OWNER_DELETING, variant, owner=owner.ref, holder=holder)
        return _stuck(ctx, _OWNER_DELETING, Severity.INFO, what)
    if owner.state is OwnerState.DELETING:
        reason = "StuckTerminatingBlocksOwnerDeletion"
        what = TEXTS.message(reason, owner=owner.ref, finalizer=FINALIZER)
        return _stuck(ctx, reason, Severity.CRITICAL, what, _blocked_since(ctx))
    return _gone(ctx, Severity.WARNING)


def _gone(ctx: ClaimContext, severity: Severity, variant: str = "") -> Finding:
    reason, claim = "StuckTerminatingOwnerGone", ctx.claim
    fields = {"owner": ctx.owner.ref, "addresses": ctx.addresses, "network": claim.network, "finalizer": FINALIZER}
    return _stuck(ctx, reason, severity, TEXTS.message(reason, variant, **fields))


def _blocked_since(ctx: ClaimContext) -> Moment:
    """The VM has waited for the claim since its VMI was gone: shutting down may have taken long."""
    deleting, stopped = ctx.claim.deleting, ctx.vm.stopped if ctx.vm is not None else None
    if deleting is None or stopped is None or stopped <= deleting:
        return deleting, Since.DELETION
    return stopped, Since.CONDITION


def _stuck(
    ctx: ClaimContext, reason: str, severity: Severity, what: str, since: Moment | None = None, next_step: str = ""
) -> Finding:
    since, owner = since or (ctx.claim.deleting, Since.DELETION), ctx.owner
    return ctx.finding(
        reason, severity, what, since, related=owner.related, next_step=next_step, ownerUid=owner.ref.uid
    )


def foreign_finalizer(ctx: ClaimContext) -> Finding | None:
    """Reported beside another reason."""
    if ctx.claim.deleting is None:
        return None
    others = [each for each in ctx.claim.finalizers if each != FINALIZER]
    if not others or (ctx.terminating and left_in_namespace(ctx)):
        return None
    reason = "StuckTerminatingForeignFinalizer"
    what = TEXTS.message(reason, finalizers=", ".join(others))
    return ctx.finding(reason, Severity.WARNING, what, (ctx.claim.deleting, Since.DELETION))


def owner_uid_mismatch(ctx: ClaimContext) -> Finding | None:
    """A VM of the owner's name has another uid."""
    claim, owner = ctx.claim, ctx.owner
    if owner.state is not OwnerState.REPLACED or owner.replacement is None:
        return None
    now = owner.replacement
    pod = ctx.users[0].ref if ctx.in_use else ""
    variant = "adopt" if claim.deleting is None else "in_use" if pod else "stopped"
    said = "stopped" if not pod else "in_use" if variant == "in_use" else ""
    return ctx.finding(
        "OwnerUidMismatch",
        Severity.CRITICAL if ctx.users else Severity.WARNING,
        TEXTS.message("OwnerUidMismatch", said, vm=now, old=owner.ref.uid[:8], pod=pod),
        _replaced_since(ctx),
        related=owner.related,
        next_step=TEXTS.next("OwnerUidMismatch", variant),
        oldUid=owner.ref.uid,
        ownerUid=now.uid,
    )


def _replaced_since(ctx: ClaimContext) -> Moment:
    """Since the new VM is there, or the claim terminating: whichever was later."""
    deleting, replaced = ctx.claim.deleting, ctx.owner.replaced_at
    if deleting is None or (replaced is not None and replaced > deleting):
        return replaced, Since.CREATION
    return deleting, Since.DELETION


def ownerless_claim(ctx: ClaimContext) -> Finding | None:
    """Where the VM of its label exists it wants its owner reference again; where not, it is left over."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or claim.owners or claim.other_owners:
        return None
    variant = "vm" if owner.state is not OwnerState.GONE else "used" if ctx.in_use else "gone"
    what = TEXTS.message(
        "OwnerlessClaim",
        "" if variant == "vm" else "unnamed" if variant == "gone" and not owner.ref.name else variant,
        owner=owner.ref,
        pod=ctx.users[0].ref if variant == "used" else "",
        addresses=ctx.addresses,
        network=claim.network,
    )
    since: Moment = (claim.created, Since.CREATION)  # an import creates it before its VM
    kind = kind_word((owner.vm or owner.vmi or owner).ref.kind)
    next_step = TEXTS.next_if_short("OwnerlessClaim", variant, kind=kind, name=owner.ref.name)
    return ctx.finding("OwnerlessClaim", Severity.WARNING, what, since, related=owner.related, next_step=next_step)


def orphan_claim(ctx: ClaimContext) -> Finding | None:
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or owner.state is not OwnerState.GONE or not claim.owners:
        return None
    if owner.running_vmi or claim.other_owners or ctx.in_use:
        return None
    full = bool(claim.hosts) and ctx.utilisation >= _NEARLY_FULL
    what = TEXTS.message(
        "OrphanClaim",
        "full" if full else "",
        owner=owner.ref,
        addresses=ctx.addresses,
        network=claim.network,
        share=percent(ctx.utilisation) if full else "",
    )
    severity = Severity.CRITICAL if full else Severity.WARNING
    return ctx.finding("OrphanClaim", severity, what, related=owner.related, ownerUid=owner.ref.uid)


def unprotected_claim(ctx: ClaimContext) -> Finding | None:
    """No finalizer, while the VM exists."""
    if ctx.claim.deleting is not None or FINALIZER in ctx.claim.finalizers or ctx.owner.state is not OwnerState.LIVE:
        return None
    what = TEXTS.message("UnprotectedClaim", finalizer=FINALIZER, owner=ctx.owner.ref)
    return ctx.finding("UnprotectedClaim", Severity.WARNING, what, related=ctx.owner.related)


def unlabelled_claim(ctx: ClaimContext) -> Finding | None:
    """No label, or another VM's, while the VM exists."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or not claim.owners or owner.state is not OwnerState.LIVE:
        return None
    names = {each.name for each in claim.owners}
    if claim.vm in names:
        return None
    there = owner.ref.name in names
    variant = "gone" if not there else "" if claim.vm else "missing"
    what = TEXTS.message("UnlabelledClaim", variant, label=claim.vm, owners=", ".join(sorted(names)))
    next_step = TEXTS.next("UnlabelledClaim", "owner" if there else "other", vm=owner.ref)
    return ctx.finding("UnlabelledClaim", Severity.WARNING, what, related=owner.related, next_step=next_step)


# An IPAMClaim and its network: missing, missing in its namespace, or not the one that the VM uses now.


def network_mismatch(ctx: ClaimContext) -> Finding | None:
    """The VM's interface refers to a NAD of another network. What a running pod says goes first."""
    for key, since in _nads_in_use(ctx):
        nad = ctx.nad(key)
        if nad is None or not nad.network or nad.network == ctx.claim.network:
            continue
        what = TEXTS.message(
            "NetworkMismatch",
            "" if ctx.claim.network else "none",
            network=ctx.claim.network,
            other=nad.network,
            nad=f"{nad.namespace}/{nad.name}",
        )
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
        what = TEXTS.message("NetworkMissing", network=claim.network)
        return ctx.finding("NetworkMissing", _severity(ctx), what)
    here = claim.namespace in ctx.network.namespaces
    elsewhere = any(key and key.partition("/")[0] != claim.namespace for _, key in ctx.interfaces)
    if here or elsewhere:
        return None  # that an interface refers to another namespace's NAD is reported of the VM
    what = TEXTS.message("NetworkNotInNamespace", namespace=claim.namespace, network=claim.network)
    return ctx.finding("NetworkNotInNamespace", _severity(ctx), what, related=[ctx.network.nads[0].ref])


def persistence_disabled(ctx: ClaimContext) -> bool:
    """No NAD of the network allows persistent IPs. It is reported once, of the network."""
    return bool(ctx.network.nads) and not ctx.network.effective


def _severity(ctx: ClaimContext) -> Severity:
    return Severity.CRITICAL if ctx.runs else Severity.WARNING
