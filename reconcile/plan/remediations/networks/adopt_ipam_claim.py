"""Makes a VM that was created again under its name the owner of its predecessor's IPAMClaim; one in deletion is
released while the VM is stopped.

KubeVirt's ipam-extensions finds an IPAMClaim by its name, and takes one for its own that has one owner reference with
the UID of the VM; any other it leaves alone, with an error in its log (pkg/vminetworkscontroller). The webhook refers
to it by name all the same, so the VM runs on addresses that garbage collection wants to delete.

While the IPAMClaim is not in deletion, the owner reference is put in the place of the old one. Nothing else changes,
and no address is released, so the VM may run. Its name and network have to be those of an interface of the VM.

A deletion can't be taken back: of an IPAMClaim that is in deletion only the finalizer is left, which nobody removes
before the VM is deleted. It is removed while the VM is stopped, and only if the VM's owner allows another address by
the annotation `steward.kubevirt-steward.io/new-address-allowed: "true"`: the VM may have run with this one, and others
may rely on that. At its next start ipam-extensions creates an IPAMClaim of its own. The address can't be kept by a
write that is safe: OVN-Kubernetes reserves nothing for an IPAMClaim that is created with addresses before a pod uses it
(go-controller/pkg/persistentips), so another pod could get them in between.

The VM may be started, or created once more, after it was looked for. So the finalizer is removed within 2 seconds of
the last look or not at all, and then it is looked once more: what came in between is reported by the alert
StewardRepairInUse.

Undo: the old owner reference is put back, after which garbage collection deletes the IPAMClaim; with its finalizer it
keeps its addresses. A release can't be taken back; the ledger keeps the IPAMClaim whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...guards import guard, when
from ...patterns import PRESENT, Each
from ...plan import Patch, Plan, Refused, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import LIVING, an_owner, owned_by
from ._ipam_claims import (
    OF_KUBEVIRT,
    ClaimOwner,
    in_use,
    migrating,
    misfit,
    named_owner,
    reference,
    restored,
    shared,
    stack_broken,
    unsettled,
)
from ._releasing import (
    LOSSES,
    NEW_ADDRESS,
    RELEASED,
    SEND_SECONDS,
    awake,
    came_to_run,
    came_to_use,
    given_away,
    had_time,
    kept,
    released,
)

_PATH = "/metadata/ownerReferences"


@guard(
    {
        "one_owner": "the IPAMClaim has one owner reference, and that is to a VM or VMI",
        "label_fits": "the IPAMClaim has the label of the VM that owned it, or none",
        "owner_lives": "the VM, or the VMI that stands alone, that has the name of the owner now is not being deleted, "
        "and a VMI of that name is its own",
    },
    migrating,
    restored,
    when("while it is not in deletion", misfit, stack_broken),
    when("of one in deletion", had_time, awake, in_use, shared, kept),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, claim = scene.of(ref), scene.named(IPAMClaim, ref.namespace, ref.name)
    if whole is None or claim is None:
        return Refused("same_object", f"{ref} does not exist")
    owner = _successor(scene, claim)
    if isinstance(owner, Refused):
        return owner
    if claim.deleting is None:
        return _adopted(finding, scene, claim, whole, owner)
    return _released(finding, scene, claim, whole, owner)


def _successor(scene: Scene, claim: IPAMClaim) -> ClaimOwner | Refused:
    """Whoever has the name of its owner now, with another UID."""
    if claim.other_owners or len(claim.owners) != 1:
        return Refused("one_owner", f"{claim.ref} has other owner references than one to a VM or VMI")
    old = claim.owners[0]
    if claim.vm not in ("", old.name):
        return Refused("label_fits", f"{claim.ref} has the label of VM {claim.vm}, and belonged to VM {old.name}")
    vm, vmi = named_owner(scene, claim, old.name)
    owner = vm or vmi
    if owner is None or owner.uid == old.uid:
        return Refused("finding_holds", f"no other VM has the name {old.name}, which the owner of {claim.ref} had")
    return unsettled(owner, vm, vmi) or owner


def _adopted(
    finding: Finding, scene: Scene, claim: IPAMClaim, whole: Mapping[str, Any], owner: ClaimOwner
) -> Plan | Refused:
    refused = restored(scene, claim) or migrating(scene, claim) or misfit(scene, claim, owner) or stack_broken(scene)
    if refused:
        return refused
    old = claim.owners[0]
    return REMEDIATION.planned(
        finding,
        Patch(
            target=claim.ref,
            ops=(Test(_PATH, whole["metadata"]["ownerReferences"]), Replace(_PATH, [reference(owner)])),
        ),
        vm=owner.name,
        effect=f"{owner.ref} with UID {owner.uid} owns the IPAMClaim; its addresses stay as they are.",
        risk=Risk.NONE,
        undo=f"restore the owner reference to UID {old.uid}; garbage collection then deletes the IPAMClaim",
    )


def _released(
    finding: Finding, scene: Scene, claim: IPAMClaim, whole: Mapping[str, Any], owner: ClaimOwner
) -> Plan | Refused:
    if not isinstance(owner, VirtualMachine):
        return Refused("vm_stopped", f"{owner.ref} exists")
    refused = had_time(scene, claim) or awake(scene, claim, owner)
    refused = refused or migrating(scene, claim) or restored(scene, claim)
    refused = refused or in_use(scene, claim) or shared(scene, claim) or kept(scene, claim, owner)
    return refused or released(REMEDIATION, finding, claim, whole, NEW_ADDRESS, owner.name)


_ADOPTED = Patched(
    Field(
        _PATH,
        was=Each(an_owner(kind=PRESENT, name=PRESENT, uid=PRESENT), one=True),
        to=owned_by(*OF_KUBEVIRT),
        named=True,
    ),
    old=LIVING,
)
REMEDIATION = Remediation(
    id="adopt_ipam_claim",
    title="Give the IPAMClaim of an earlier VM to the VM that has its name",
    writes=(
        Write("k8s.cni.cncf.io", "ipamclaims", ("patch",), (_ADOPTED, RELEASED)),
        # An owner reference with blockOwnerDeletion needs it where OwnerReferencesPermissionEnforcement is on.
        Write("kubevirt.io", "virtualmachines/finalizers", ("update",)),
        Write("kubevirt.io", "virtualmachineinstances/finalizers", ("update",)),
    ),
    plan=_plan,
    risk=Risk.ADDRESS,
    undo="restore the owner reference; none for a release: the network can allocate the addresses at once",
    send_seconds=SEND_SECONDS,
    looks_again=came_to_use,
    note="**The addresses of a terminating IPAMClaim are released**, if its stopped VM allows that.",
)


# With its old owner reference an IPAMClaim is nobody's again, and garbage collection deletes it.
#
# What released one can't be taken back.

_GOING = "garbage collection deletes it, because its owner no longer exists"


@guard(given_away)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if FINALIZER in claim.finalizers:
        return UndoEffect(
            effect=f"{ref} is of the earlier VM again: {_GOING}, and its finalizer keeps its addresses. It can then no "
            "longer be given to the VM."
        )
    return given_away(scene, claim, _GOING)


UNDO = Undo(id="adopt_ipam_claim", weigh=_weigh, looks_again=came_to_run, losses=LOSSES)
