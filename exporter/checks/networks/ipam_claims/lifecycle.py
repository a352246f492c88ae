"""IPAMClaims and their VMs: the owner is gone, was recreated or never set; what holds a claim in deletion."""

from __future__ import annotations

from ....findings.finding import Finding, Since
from ....findings.severity import Severity
from ....store.kinds.ipam_claim import FINALIZER, IPAMClaim
from .context import UNKNOWN_MOMENT, ClaimContext, Moment, percent
from .owner import OwnerState

_NEARLY_FULL = 0.9  # of the network's addresses
_WAIT_FOR_VM = "Wait until the VM is gone; if it stays, annotate it so that KubeVirt's IPAM controller reconciles it."


def foreign_claim(ctx: ClaimContext) -> Finding:
    """Of a claim that KubeVirt did not create; one that a running launcher pod refers to is in use unprotected."""
    running = [pod for pod in ctx.holders if pod.domain and pod.phase == "Running" and ctx.refers(pod)]
    if not running:
        return ctx.finding("ForeignClaim", Severity.INFO, "it has no finalizer, label or owner of KubeVirt")
    what = f"{running[0].ref} uses the IPAMClaim, and that has no finalizer, label or owner of KubeVirt"
    next_step = "Add the finalizer kubevirt.io/persistent-ipam, the label and the owner reference of the VM."
    if ctx.claim.deleting is not None:
        what += ": its addresses are released once it is gone"
        next_step = "Stop the VM before the last finalizer is removed; it gets new addresses when it starts."
    return ctx.finding(
        "UnprotectedClaim",
        Severity.WARNING,
        what,
        related=[pod.ref for pod in running],
        next_step=next_step,
        launcherPod=running[0].name,
    )


def terminating_namespace(ctx: ClaimContext) -> Finding | None:
    """While the VM, its VMI or a pod is there, all that is missing or in deletion goes with the namespace."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is None or FINALIZER not in claim.finalizers:
        return None
    if left_in_namespace(ctx):
        holder = owner.running_vmi or (ctx.users[0].ref if ctx.users else owner.replacement or owner.ref)
        what = f"its namespace is being deleted, and {holder} still exists"
        next_step = "" if owner.running_vmi or ctx.users else _WAIT_FOR_VM
        return _stuck(ctx, "OwnerDeleting", Severity.INFO, what, next_step=next_step)
    what = f"{_gone(ctx)}; this blocks the deletion of the namespace"
    return _stuck(ctx, "OwnerGone", Severity.CRITICAL, what)


def left_in_namespace(ctx: ClaimContext) -> bool:
    """Whether its VM, VMI or a pod that uses it is still there."""
    return ctx.owner.state is not OwnerState.GONE or ctx.owner.running_vmi is not None or bool(ctx.users)


def stuck_terminating(ctx: ClaimContext) -> Finding | None:
    """With its finalizer still on it; one whose VM was recreated has a reason of its own."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is None or FINALIZER not in claim.finalizers or owner.state is OwnerState.REPLACED:
        return None
    if owner.state is OwnerState.LIVE:
        what = f"it was deleted while {owner.ref} exists; only the finalizer still protects its addresses"
        return _stuck(ctx, "DeletedByHand", Severity.WARNING, what)
    if owner.running_vmi or ctx.in_use:
        state = "is gone" if owner.state is OwnerState.GONE else "is being deleted"
        holder = owner.running_vmi or ctx.users[0].ref
        return _stuck(ctx, "OwnerDeleting", Severity.INFO, f"{owner.ref} {state}, and {holder} still exists")
    if owner.state is OwnerState.DELETING:
        what = f"{owner.ref} has stopped, and the finalizer {FINALIZER} blocks the deletion of the IPAMClaim"
        return _stuck(ctx, "BlocksOwnerDeletion", Severity.CRITICAL, what, _blocked_since(ctx))
    return _stuck(ctx, "OwnerGone", Severity.WARNING, _gone(ctx))


def _gone(ctx: ClaimContext) -> str:
    return f"{ctx.owner.ref} is gone, and nothing removes the finalizer {FINALIZER}; {_held(ctx.claim)}"


def _blocked_since(ctx: ClaimContext) -> Moment:
    """The VM has waited for the claim since its VMI was gone: shutting down may have taken long."""
    deleting, stopped = ctx.claim.deleting, ctx.vm.stopped if ctx.vm is not None else None
    if deleting is None or stopped is None or stopped <= deleting:
        return deleting, Since.DELETION
    return stopped, Since.CONDITION


def _stuck(
    ctx: ClaimContext, why: str, severity: Severity, what: str, since: Moment | None = None, next_step: str = ""
) -> Finding:
    since = since or (ctx.claim.deleting, Since.DELETION)
    owner, reason = ctx.owner, f"StuckTerminating{why}"
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
    what = f"finalizers other than KubeVirt's block the deletion of the IPAMClaim: {', '.join(others)}"
    return ctx.finding("StuckTerminatingForeignFinalizer", Severity.WARNING, what, (ctx.claim.deleting, Since.DELETION))


def owner_uid_mismatch(ctx: ClaimContext) -> Finding | None:
    """A VM of the owner's name has another uid."""
    claim, owner = ctx.claim, ctx.owner
    if owner.state is not OwnerState.REPLACED or owner.replacement is None:
        return None
    now = owner.replacement
    use = f"{ctx.users[0].ref} uses the IPAMClaim's addresses" if ctx.in_use else "the VM is stopped"
    next_step = ""
    if claim.deleting is not None and ctx.users:
        next_step = "Keep the finalizer and the VM running; agree on a stop with its owner."
    elif claim.deleting is not None:
        next_step = "Keep the VM stopped, and remove the finalizer; the VM gets new addresses when it starts."
    return ctx.finding(
        "OwnerUidMismatch",
        Severity.CRITICAL if ctx.users else Severity.WARNING,
        f"its owner is {owner.ref} with uid {owner.ref.uid}, but {now} now has uid {now.uid}; {use}",
        _replaced_since(ctx),
        related=owner.related,
        next_step=next_step,
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
    what, next_step = f"it has no owner reference to {owner.ref}: it will outlive the VM", ""
    if owner.state is OwnerState.GONE and not ctx.in_use:
        gone = f"{owner.ref} is gone" if owner.ref.name else "no label names its VM"
        what = f"it has no owner reference, and {gone}; {_held(claim)}"
        next_step = (
            "Verify that the VM is NotFound and no import or restore is about to create it, then delete the IPAMClaim."
        )
    since: Moment = (claim.created, Since.CREATION)  # an import creates it before its VM
    return ctx.finding("OwnerlessClaim", Severity.WARNING, what, since, related=owner.related, next_step=next_step)


def orphan_claim(ctx: ClaimContext) -> Finding | None:
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or owner.state is not OwnerState.GONE or not claim.owners:
        return None
    if owner.running_vmi or claim.other_owners or ctx.in_use:
        return None
    what, severity = f"{owner.ref} is gone; {_held(claim)}", Severity.WARNING
    if claim.hosts and ctx.utilisation >= _NEARLY_FULL:
        what, severity = f"{what}, of which {percent(ctx.utilisation)} is in use", Severity.CRITICAL
    return ctx.finding("OrphanClaim", severity, what, related=owner.related, ownerUid=owner.ref.uid)


def unprotected_claim(ctx: ClaimContext) -> Finding | None:
    """No finalizer, while the VM exists."""
    if ctx.claim.deleting is not None or FINALIZER in ctx.claim.finalizers or ctx.owner.state is not OwnerState.LIVE:
        return None
    what = f"it lacks the finalizer {FINALIZER}: deleting it releases the addresses of {ctx.owner.ref} at once"
    return ctx.finding("UnprotectedClaim", Severity.WARNING, what, related=ctx.owner.related)


def unlabelled_claim(ctx: ClaimContext) -> Finding | None:
    """No label, or another VM's, while the VM exists."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or not claim.owners or owner.state is not OwnerState.LIVE:
        return None
    names = {each.name for each in claim.owners}
    if claim.vm in names:
        return None
    label = f"is {claim.vm!r}" if claim.vm else "is missing"
    what = f"its label kubevirt.io/vm {label}, and its owner is {', '.join(sorted(names))}: its deletion will hang"
    next_step = ""
    if owner.ref.name not in names:
        what = f"its label kubevirt.io/vm {label}, and its owner {', '.join(sorted(names))} is gone"
        next_step = (
            f"If {owner.ref} uses the IPAMClaim, make that VM its owner; else correct the label, and delete the "
            "IPAMClaim."
        )
    return ctx.finding("UnlabelledClaim", Severity.WARNING, what, related=owner.related, next_step=next_step)


def _held(claim: IPAMClaim) -> str:
    if not claim.hosts:
        return "the IPAMClaim holds no address"
    return f"the IPAMClaim still holds {', '.join(claim.hosts)} of network {claim.network}"


# An IPAMClaim and its network: missing, missing in its namespace, or not the one that the VM uses now.


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
