"""Deletes an IPAMClaim whose VM is gone and that garbage collection has left.

KubeVirt's finalizer stays on it: deleting alone releases no address. The IPAMClaim is terminating then, and
`release_ipam_claim` is for what is left of it, once everything was read again. One without that finalizer is never
deleted, since its addresses would be released at once.

It waits while the IPAM controller or OVN-Kubernetes' control plane does not work: what they would have written, such as
the IPAMClaim's own addresses, may be missing. One whose address another IPAMClaim has too is for a person to resolve.
One that was created within the hour is left alone: a restore or an import may create IPAMClaims first and VMs later.

Undo: none. A deletion can't be taken back; the ledger keeps the IPAMClaim whole.
"""

from __future__ import annotations

from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import IPAMClaim

from ...guards import guard, refused
from ...plan import Delete, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import NoUndo
from ...writes import Write
from ._ipam_claims import in_use, migrating, named_live, restored, shared, stack_broken
from ._releasing import DELETED, unprotected

_AGE = 3600.0  # seconds that a restore or an import has to create the VM


@guard({"an_hour_old": "the IPAMClaim was created more than an hour ago"})
def _young(scene: Scene, claim: IPAMClaim) -> Refused | None:
    if claim.created is None or scene.now - claim.created <= _AGE:
        why = f"{claim.ref} is younger than an hour: its VM might still be created, such as by a restore"
        return Refused("an_hour_old", why)
    return None


_GUARDS = (unprotected, _young, named_live, migrating, restored, stack_broken, in_use, shared)


@guard(*_GUARDS)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if claim.deleting is not None:
        return Refused("not_being_deleted", f"{ref} is being deleted already")
    return refused(_GUARDS, scene, claim) or REMEDIATION.planned(
        finding,
        Delete(target=ref),
        effect="The IPAMClaim becomes terminating; its finalizer keeps its addresses until it is released.",
        risk=Risk.NONE,
        undo=f"none: a deletion can't be undone; its addresses ({', '.join(claim.ips) or 'none'}) are still reserved",
    )


REMEDIATION = Remediation(
    id="delete_orphan_ipam_claim",
    title="Delete an orphaned IPAMClaim",
    writes=(Write("k8s.cni.cncf.io", "ipamclaims", ("delete",), (DELETED,)),),
    plan=_plan,
    risk=Risk.NONE,
    undo="none: a deletion can't be undone; the ledger keeps the complete IPAMClaim",
)


# An IPAMClaim that was deleted is no longer the same one when a person creates it again.

UNDO = NoUndo(
    "delete_orphan_ipam_claim",
    "While the IPAMClaim is terminating, its addresses are reserved and its name is in use. Created again, it has no "
    "address, because the API server drops the status of new objects. While no VM has the UID in its owner reference, "
    "garbage collection deletes it again.",
)
