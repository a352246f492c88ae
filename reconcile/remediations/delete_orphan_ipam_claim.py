"""Deletes an IPAMClaim whose VM is gone and that garbage collection has left.

KubeVirt's finalizer stays on it: deleting alone releases no address. The IPAMClaim is terminating then, and
`release_ipam_claim` is for what is left of it, once everything was read again. One without that finalizer is never
deleted, since its addresses would be released at once.

Undo: none. A deletion can't be taken back; the ledger keeps the IPAMClaim whole.
"""

from __future__ import annotations

from exporter.findings import Finding
from exporter.model.kinds import ipam_claim, namespace, pod, virtual_machine, virtual_machine_instance
from exporter.model.kinds.ipam_claim import FINALIZER

from ..plan import Delete, Plan, Refused, Risk
from ..remediation import Remediation, Scene, Write

__all__ = ["REMEDIATION"]


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    claim = scene.of(finding.subject)
    if claim is None:
        return Refused("same_object", f"{finding.subject} does not exist")
    meta = claim["metadata"]
    if meta.get("deletionTimestamp"):
        return Refused("not_being_deleted", f"{finding.subject} is being deleted already")
    if FINALIZER not in (meta.get("finalizers") or ()):
        return Refused(
            "protected", f"{finding.subject} has no finalizer {FINALIZER}: deleting it releases its addresses"
        )
    ips = (claim.get("status") or {}).get("ips") or ()
    return Plan(
        remediation=REMEDIATION.id,
        fingerprint=finding.fingerprint,
        check=finding.check,
        reason=finding.reason,
        subject=finding.subject,
        vm=finding.vm,
        step=Delete(target=finding.subject),
        why=finding.message,
        effect="The IPAMClaim becomes terminating; its finalizer keeps its addresses until it is released.",
        risk=Risk.NONE,
        undo=f"none: a deletion can't be taken back; its addresses ({', '.join(ips) or 'none'}) are still reserved",
    )


REMEDIATION = Remediation(
    id="delete_orphan_ipam_claim",
    title="Delete an orphaned IPAMClaim",
    answers={"ipam_claims": ("OrphanClaim",)},
    reads=(ipam_claim.KIND, virtual_machine.KIND, virtual_machine_instance.KIND, pod.KIND, namespace.KIND),
    writes=(Write("k8s.cni.cncf.io", "ipamclaims", ("delete",)),),
    plan=_plan,
    preconditions={"protected": "the IPAMClaim has KubeVirt's finalizer, so that deleting it releases nothing yet"},
    risk=Risk.NONE,
    undo="none: a deletion can't be taken back; the ledger keeps the IPAMClaim whole",
)
