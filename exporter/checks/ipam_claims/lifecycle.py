"""Claims and their VMs: who is gone, who came again, what holds a claim (ipamclaims C-01 to C-05, C-24)."""

from __future__ import annotations

from ...findings import Finding, Severity, Since
from ...model.kinds.ipam_claim import FINALIZER, IPAMClaim
from ...model.kinds.namespace import Namespace
from .owner import OwnerState
from .situation import UNKNOWN_MOMENT, Moment, Situation

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


def foreign_claim(it: Situation) -> Finding | None:
    """C-24."""
    if it.claim.managed:
        return None
    return it.finding("ForeignClaim", Severity.INFO, "KubeVirt did not make it: no finalizer, label or owner says so")


def stuck_terminating(it: Situation) -> Finding | None:
    """C-02, its classes in the order d, c, b, a; class e is C-03."""
    claim, owned = it.claim, it.owned
    if claim.deleting is None or FINALIZER not in claim.finalizers or owned.state is OwnerState.REPLACED:
        return None
    if owned.state is OwnerState.LIVE:
        return _stuck(
            it,
            "DeletedByHand",
            Severity.WARNING,
            f"it was deleted while {owned.ref} lives; only the finalizer still protects it",
        )
    if owned.running_vmi or it.users:
        state = "is gone" if owned.state is OwnerState.GONE else "is being deleted"
        holder = owned.running_vmi or it.users[0].ref
        what = f"{owned.ref} {state}, and {holder} is still there; nothing to do here until it is gone"
        return _stuck(it, "OwnerDeleting", Severity.INFO, what)
    if owned.state is OwnerState.DELETING:
        what = f"{owned.ref} no longer runs and can't go before this claim's finalizer {FINALIZER} is taken off"
        return _stuck(it, "BlocksOwnerDeletion", Severity.CRITICAL, what)
    what = f"{owned.ref} is gone, and nobody takes the finalizer {FINALIZER} off; {_taken(claim)}"
    if any(each.terminating for each in it.view.all(Namespace)):
        return _stuck(it, "OwnerGone", Severity.CRITICAL, f"{what}; namespace {claim.namespace} can't go before it")
    return _stuck(it, "OwnerGone", Severity.WARNING, what)


def _stuck(it: Situation, why: str, severity: Severity, what: str) -> Finding:
    since: Moment = (it.claim.deleting, Since.DELETION)
    owned = it.owned
    return it.finding(f"StuckTerminating{why}", severity, what, since, related=owned.related, ownerUid=owned.ref.uid)


def foreign_finalizer(it: Situation) -> Finding | None:
    """C-02f: reported beside another class."""
    others = [each for each in it.claim.finalizers if each != FINALIZER]
    if it.claim.deleting is None or not others:
        return None
    what = f"it can't go before {', '.join(others)} is taken off, which is not KubeVirt's"
    return it.finding("StuckTerminatingForeignFinalizer", Severity.WARNING, what, (it.claim.deleting, Since.DELETION))


def owner_uid_mismatch(it: Situation) -> Finding | None:
    """C-03 (and C-02e): a VM of the owner's name has another uid."""
    claim, owned = it.claim, it.owned
    if owned.state is not OwnerState.REPLACED or owned.replacement is None:
        return None
    now = owned.replacement
    use = f"{it.users[0].ref} runs on its addresses" if it.users else "it does not run now"
    terminating: Moment = (claim.deleting, Since.DELETION)
    return it.finding(
        "OwnerUidMismatch",
        Severity.CRITICAL if it.users else Severity.WARNING,
        f"it belongs to {owned.ref} of uid {owned.ref.uid}; {now} of uid {now.uid} has its name; {use}",
        terminating if claim.deleting is not None else (owned.replaced_at, Since.CREATION),
        related=owned.related,
        ownerUid=owned.ref.uid,
    )


def ownerless_claim(it: Situation) -> Finding | None:
    """C-04: a where the VM of its label is there, b where not."""
    claim, owned = it.claim, it.owned
    if claim.deleting is not None or claim.owners or claim.other_owners:
        return None
    if owned.state is OwnerState.GONE and not it.users:
        what = f"it has no owner reference, and {owned.ref} is gone: until somebody deletes it, {_taken(claim)}"
    else:
        what = f"it has no owner reference to {owned.ref}: it will outlive the VM"
    return it.finding("OwnerlessClaim", Severity.WARNING, what, related=owned.related)


def orphan_claim(it: Situation) -> Finding | None:
    """C-01."""
    claim, owned = it.claim, it.owned
    in_use = owned.running_vmi or it.users or claim.other_owners
    if claim.deleting is not None or owned.state is not OwnerState.GONE or in_use or not claim.owners:
        return None
    what = f"{owned.ref} is gone, and {_taken(claim)}"
    return it.finding("OrphanClaim", Severity.WARNING, what, related=owned.related, ownerUid=owned.ref.uid)


def unprotected_claim(it: Situation) -> Finding | None:
    """C-05: no finalizer, while the VM lives."""
    if it.claim.deleting is not None or FINALIZER in it.claim.finalizers or it.owned.state is not OwnerState.LIVE:
        return None
    what = f"it has no finalizer {FINALIZER}: whoever deletes it takes {it.owned.ref} its addresses"
    return it.finding("UnprotectedClaim", Severity.WARNING, what, UNKNOWN_MOMENT, related=it.owned.related)


def unlabelled_claim(it: Situation) -> Finding | None:
    """C-05: no label, or another VM's, while the VM lives."""
    claim, owned = it.claim, it.owned
    if claim.deleting is not None or not claim.owners or owned.state is not OwnerState.LIVE:
        return None
    names = {owner.name for owner in claim.owners}
    if claim.vm in names:
        return None
    has = f"says {claim.vm!r}" if claim.vm else "is missing"
    what = f"its label kubevirt.io/vm {has}, and it belongs to {', '.join(sorted(names))}: it will be stuck at deletion"
    return it.finding("UnlabelledClaim", Severity.WARNING, what, related=owned.related)


def _taken(claim: IPAMClaim) -> str:
    if not claim.hosts:
        return "it holds no address"
    return f"{', '.join(claim.hosts)} of network {claim.network} {'stay' if len(claim.hosts) > 1 else 'stays'} taken"
