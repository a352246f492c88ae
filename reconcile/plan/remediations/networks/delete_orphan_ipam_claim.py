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
from exporter.store.kinds.components import Deployment, MutatingWebhookConfiguration
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...plan import Delete, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import NoUndo
from ...writes import Write
from .._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS
from ._ipam_claims import (
    NO_OTHER_HOLDER,
    NO_POD_USES_IT,
    NOT_MIGRATING,
    STACK_HEALTHY,
    in_use,
    migrating,
    namesakes,
    restored,
    shared,
    stack_broken,
)
from ._releasing import DELETED, PROTECTED, unprotected

_AGE = 3600.0  # seconds that a restore or an import has to create the VM


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if claim.deleting is not None:
        return Refused("not_being_deleted", f"{ref} is being deleted already")
    if refused := unprotected(claim):
        return refused
    if claim.created is None or scene.now - claim.created <= _AGE:
        return Refused("an_hour_old", f"{ref} is not older than an hour: its VM may still be created, as by a restore")
    if owners := [*namesakes(scene, VirtualMachine, claim), *namesakes(scene, VirtualMachineInstance, claim)]:
        return Refused("vm_gone", f"{owners[0].ref} exists")
    if refused := migrating(scene, claim) or restored(scene, claim) or stack_broken(scene):
        return refused
    if refused := in_use(scene, claim) or shared(scene, claim):
        return refused
    return REMEDIATION.planned(
        finding,
        Delete(target=ref),
        effect="The IPAMClaim becomes terminating; its finalizer keeps its addresses until it is released.",
        risk=Risk.NONE,
        undo=f"none: a deletion can't be taken back; its addresses ({', '.join(claim.ips) or 'none'}) are still "
        "reserved",
    )


REMEDIATION = Remediation(
    id="delete_orphan_ipam_claim",
    title="Delete an orphaned IPAMClaim",
    answers={"ipam_claims": ("OrphanClaim",)},
    reads=(
        IPAMClaim.KIND,
        NetworkAttachmentDefinition.KIND,
        Deployment.KIND,
        MutatingWebhookConfiguration.KIND,
        Namespace.KIND,
        VirtualMachineInstanceMigration.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        Pod.KIND,
        *SAVERS,
    ),
    writes=(Write("k8s.cni.cncf.io", "ipamclaims", ("delete",), (DELETED,)),),
    plan=_plan,
    preconditions={
        **PROTECTED,
        "an_hour_old": "the IPAMClaim was created more than an hour ago",
        "vm_gone": "no VM or VMI that the IPAMClaim names, and none with an interface whose IPAMClaim has its name, "
        "exists",
        **NOT_MIGRATING,
        **NO_SNAPSHOT_OR_RESTORE,
        **STACK_HEALTHY,
        **NO_POD_USES_IT,
        **NO_OTHER_HOLDER,
    },
    risk=Risk.NONE,
    undo="none: a deletion can't be taken back; the ledger keeps the IPAMClaim whole",
)


# An IPAMClaim that was deleted is no longer the same one when a person creates it again.

UNDO = NoUndo(
    "delete_orphan_ipam_claim",
    "While the IPAMClaim is terminating its addresses are reserved and its name is taken. Created again it has no "
    "address, since the API server drops the status of what is created; and while no VM has the UID that its owner "
    "reference names, garbage collection deletes it once more.",
)
