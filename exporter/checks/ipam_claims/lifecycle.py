"""IPAMClaims and their VMs: the owner is gone, was recreated or never set; what holds a claim in deletion."""

from __future__ import annotations

from ...findings import Finding, Severity, Since
from ...model.kinds.ipam_claim import FINALIZER, IPAMClaim
from ...model.kinds.namespace import Namespace
from .context import ClaimContext, Moment
from .owner import OwnerState

__all__ = [
    "foreign_claim",
    "foreign_finalizer",
    "orphan_claim",
    "owner_uid_mismatch",
    "ownerless_claim",
    "stuck_terminating",
    "unlabelled_claim",
    "unprotected_claim",
]


def foreign_claim(ctx: ClaimContext) -> Finding | None:
    if ctx.claim.managed:
        return None
    return ctx.finding("ForeignClaim", Severity.INFO, "it has no finalizer, label or owner of KubeVirt")


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
        what = f"{owner.ref} has stopped, and the finalizer {FINALIZER} of this IPAMClaim blocks its deletion"
        return _stuck(ctx, "BlocksOwnerDeletion", Severity.CRITICAL, what)
    what = f"{owner.ref} is gone, and nothing removes the finalizer {FINALIZER}; {_held(claim)}"
    if any(each.terminating for each in ctx.view.all(Namespace)):
        return _stuck(ctx, "OwnerGone", Severity.CRITICAL, f"{what}; this blocks the deletion of the namespace")
    return _stuck(ctx, "OwnerGone", Severity.WARNING, what)


def _stuck(ctx: ClaimContext, why: str, severity: Severity, what: str) -> Finding:
    since: Moment = (ctx.claim.deleting, Since.DELETION)
    owner = ctx.owner
    return ctx.finding(f"StuckTerminating{why}", severity, what, since, related=owner.related, ownerUid=owner.ref.uid)


def foreign_finalizer(ctx: ClaimContext) -> Finding | None:
    """Reported beside another reason."""
    others = [each for each in ctx.claim.finalizers if each != FINALIZER]
    if ctx.claim.deleting is None or not others:
        return None
    what = f"finalizers other than KubeVirt's block its deletion: {', '.join(others)}"
    return ctx.finding("StuckTerminatingForeignFinalizer", Severity.WARNING, what, (ctx.claim.deleting, Since.DELETION))


def owner_uid_mismatch(ctx: ClaimContext) -> Finding | None:
    """A VM of the owner's name has another uid."""
    claim, owner = ctx.claim, ctx.owner
    if owner.state is not OwnerState.REPLACED or owner.replacement is None:
        return None
    now = owner.replacement
    use = f"{ctx.users[0].ref} uses its addresses" if ctx.in_use else "it is stopped"
    terminating: Moment = (claim.deleting, Since.DELETION)
    next_step = ""
    if claim.deleting is not None and ctx.users:
        next_step = "Keep the finalizer and the VM running; agree on a stop with its owner."
    elif claim.deleting is not None:
        next_step = "Keep the VM stopped, and remove the finalizer; the VM gets new addresses when it starts."
    return ctx.finding(
        "OwnerUidMismatch",
        Severity.CRITICAL if ctx.users else Severity.WARNING,
        f"its owner is {owner.ref} with uid {owner.ref.uid}, but {now} now has uid {now.uid}; {use}",
        terminating if claim.deleting is not None else (owner.replaced_at, Since.CREATION),
        related=owner.related,
        next_step=next_step,
        oldUid=owner.ref.uid,
        ownerUid=now.uid,
    )


def ownerless_claim(ctx: ClaimContext) -> Finding | None:
    """Where the VM of its label exists it wants its owner reference again; where not, it is left over."""
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or claim.owners or claim.other_owners:
        return None
    what, next_step = f"it has no owner reference to {owner.ref}: it will outlive the VM", ""
    if owner.state is OwnerState.GONE and not ctx.in_use:
        what = f"it has no owner reference, and {owner.ref} is gone; {_held(claim)}"
        next_step = "Verify that the VM is NotFound and no import or restore is about to create it, then delete it."
    return ctx.finding("OwnerlessClaim", Severity.WARNING, what, related=owner.related, next_step=next_step)


def orphan_claim(ctx: ClaimContext) -> Finding | None:
    claim, owner = ctx.claim, ctx.owner
    if claim.deleting is not None or owner.state is not OwnerState.GONE or not claim.owners:
        return None
    if owner.running_vmi or claim.other_owners or ctx.in_use:
        return None
    what = f"{owner.ref} is gone; {_held(claim)}"
    return ctx.finding("OrphanClaim", Severity.WARNING, what, related=owner.related, ownerUid=owner.ref.uid)


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
    return ctx.finding("UnlabelledClaim", Severity.WARNING, what, related=owner.related)


def _held(claim: IPAMClaim) -> str:
    if not claim.hosts:
        return "it holds no address"
    return f"it still holds {', '.join(claim.hosts)} of network {claim.network}"
