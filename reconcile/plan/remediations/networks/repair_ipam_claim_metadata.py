"""Adds to an IPAMClaim what is missing of KubeVirt's finalizer, the label of its VM and the owner reference to it.

It adds what KubeVirt's ipam-extensions writes when it creates one (pkg/vminetworkscontroller); ipam-extensions does not
compare these again. Without the finalizer a deletion releases the addresses while the VM uses them, without the label
the IPAMClaim is stuck in deletion once the VM is deleted, without the owner reference nothing ever deletes it.

The owner is the one that the IPAMClaim refers to by UID, else the VM of its label, else a VMI of that name that stands
alone. Its name and network have to be those of one of its interfaces. An owner reference is only added where there is
none.

Undo: remove again what was added, as the plan lists it; where a deletion waits for the finalizer, only once nobody uses
the IPAMClaim, and if the loss of its addresses is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...patterns import EMPTY, PRESENT
from ...plan import Add, Op, Patch, Plan, Refused, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Item, Patched, Write
from .._grounds import LIVING, owned_by, table, texts
from ._ipam_claims import (
    OF_KUBEVIRT,
    ClaimOwner,
    migrating,
    misfit,
    named_owner,
    reference,
    restored,
    stack_broken,
    unsettled,
)
from ._releasing import LOSSES, came_to_run, given_away

_LABEL = "kubevirt.io/vm"
_LONGEST_LABEL = 63  # characters of the value of a label


@guard(
    {
        "created_by_kubevirt": "the IPAMClaim has a finalizer, label or owner of KubeVirt",
        "one_owner": "the IPAMClaim has at most one owner reference, and that is to a VM or VMI",
        "owner_lives": "the VM, or the VMI that stands alone, exists with the UID of the owner reference and is not "
        "being deleted, and no other one of its name does",
        "name_fits_label": "the VM's name has at most 63 characters, so that it can be the value of a label",
    },
    misfit,
    migrating,
    restored,
    stack_broken,
    reads=(IPAMClaim.KIND,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, claim = scene.of(ref), scene.named(IPAMClaim, ref.namespace, ref.name)
    if whole is None or claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if claim.deleting is not None:
        return Refused("not_being_deleted", f"{ref} is being deleted: finalizers can no longer be added")
    owner = _owner(scene, claim)
    if isinstance(owner, Refused):
        return owner
    if refused := _unfit(scene, claim, owner):
        return refused
    ops, added = _missing(whole["metadata"], claim, owner)
    if not ops:
        return Refused("finding_holds", f"{ref} lacks nothing that {owner.ref} gives it")
    what = ", ".join(added)
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=ops),
        vm=owner.name,
        effect=f"The IPAMClaim of {owner.ref} gets {what}; its addresses stay as they are.",
        undo=f"remove from the IPAMClaim what was added: {what}",
    )


def _owner(scene: Scene, claim: IPAMClaim) -> ClaimOwner | Refused:
    """The one VM or VMI that owns it, or is to own it."""
    if not claim.managed:
        return Refused("created_by_kubevirt", f"{claim.ref} has no finalizer, label or owner of KubeVirt")
    if claim.other_owners or len(claim.owners) > 1:
        return Refused("one_owner", f"{claim.ref} has more owner references than one to a VM or VMI")
    name = claim.owners[0].name if claim.owners else claim.vm
    vm, vmi = named_owner(scene, claim, name)
    owner = _referred(claim, vm, vmi) if claim.owners else vm or vmi
    if owner is None:
        return Refused("owner_lives", f"the owner of {claim.ref}, {name or 'which it does not name'}, does not exist")
    return unsettled(owner, vm, vmi) or owner


def _referred(claim: IPAMClaim, *named: ClaimOwner | None) -> ClaimOwner | None:
    """The owner itself, by its UID."""
    reference = claim.owners[0]
    found = (each for each in named if each is not None and each.ref.kind == reference.kind)
    return next((each for each in found if each.uid == reference.uid), None)


def _unfit(scene: Scene, claim: IPAMClaim, owner: ClaimOwner) -> Refused | None:
    if len(owner.name) > _LONGEST_LABEL:
        return Refused("name_fits_label", f"{owner.ref} has {len(owner.name)} characters in its name")
    if scene.of(owner.ref) is None:
        return Refused("same_object", f"{owner.ref} with UID {owner.uid} is no longer there")
    return restored(scene, claim) or migrating(scene, claim) or misfit(scene, claim, owner) or stack_broken(scene)


def _missing(meta: Mapping[str, Any], claim: IPAMClaim, owner: ClaimOwner) -> tuple[tuple[Op, ...], list[str]]:
    """The operations, and what each adds in words. JSON patch can't test that a field is absent: there the
    resourceVersion says that nothing has changed.
    """
    ops: list[Op] = []
    added = []
    if FINALIZER not in claim.finalizers:
        finalizers = list(meta.get("finalizers") or ())
        path = "/metadata/finalizers"
        ops += [Test(path, finalizers), Add(f"{path}/-", FINALIZER)] if finalizers else [Add(path, [FINALIZER])]
        added.append(f"the finalizer {FINALIZER}")
    if claim.vm != owner.name:
        ops += _labelled(table(meta.get("labels")), owner.name)
        added.append(f"the label {_LABEL}={owner.name}")
    if not claim.owners:
        ops.append(Add("/metadata/ownerReferences", [reference(owner)]))
        added.append(f"the owner reference to {owner.ref} with UID {owner.uid}")
    return tuple(ops), added


def _labelled(labels: Mapping[str, Any], name: str) -> list[Op]:
    path = f"/metadata/labels/{_LABEL.replace('/', '~1')}"
    if not labels:
        return [Add("/metadata/labels", {_LABEL: name})]
    return [Test(path, labels[_LABEL]), Replace(path, name)] if _LABEL in labels else [Add(path, name)]


_REPAIRED = Patched(
    Item("/metadata/finalizers", FINALIZER, added=True),
    Field(f"/metadata/labels/{_LABEL.replace('/', '~1')}", to=PRESENT),
    Field("/metadata/ownerReferences", was=EMPTY, to=owned_by(*OF_KUBEVIRT)),
    old=LIVING,
)
REMEDIATION = Remediation(
    id="repair_ipam_claim_metadata",
    title="Repair finalizer, label and owner of an IPAMClaim",
    writes=(
        Write("k8s.cni.cncf.io", "ipamclaims", ("patch",), (_REPAIRED,)),
        # An owner reference with blockOwnerDeletion needs it where OwnerReferencesPermissionEnforcement is on.
        Write("kubevirt.io", "virtualmachines/finalizers", ("update",)),
        Write("kubevirt.io", "virtualmachineinstances/finalizers", ("update",)),
    ),
    plan=_plan,
    risk=Risk.NONE,
    undo="remove what was added: the finalizer, the label, the owner reference",
)


# Without KubeVirt's finalizer a deletion of an IPAMClaim releases its addresses: one that waits, at once.


@guard(given_away, reads=(Namespace.KIND,))
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    going = _going(scene, claim) if _unprotects(taken) else ""
    if not going:
        return UndoEffect(effect=f"What was added to {ref} is removed again; its addresses stay as they are.")
    return given_away(scene, claim, going)


def _going(scene: Scene, claim: IPAMClaim) -> str:
    """Why a deletion goes through, or follows at once, one clause; empty where none does."""
    if claim.deleting is not None:
        return f"{claim.ref} is being deleted"
    within = scene.named(Namespace, claim.namespace, claim.namespace)
    if within is None or within.terminating:
        return f"namespace {claim.namespace} is being deleted"
    owners = [(owner, _owner_before(scene, claim.namespace, owner.kind, owner.name)) for owner in claim.owners]
    stays = any(found is not None and found.uid == owner.uid and found.deleting is None for owner, found in owners)
    if owners and not stays and not claim.other_owners:  # garbage collection deletes it then
        return f"{owners[0][0].kind} {owners[0][0].name}, which owns {claim.ref}, is gone or being deleted"
    return ""


def _owner_before(scene: Scene, namespace: str, kind: str, name: str) -> VirtualMachine | VirtualMachineInstance | None:
    if kind == "VirtualMachine":
        return scene.named(VirtualMachine, namespace, name)
    return scene.named(VirtualMachineInstance, namespace, name)


def _unprotects(taken: UndoRequest) -> bool:
    """Whether the finalizer goes, or the label of another VM comes back: when that one is deleted, KubeVirt's IPAM
    controller takes the finalizer off every IPAMClaim with its label.
    """
    had, has = (table((whole or {}).get("metadata")) for whole in (taken.before, taken.after))
    labels = [table(each.get("labels")).get(_LABEL) for each in (had, has)]
    relabelled = labels[0] not in (None, "", labels[1])
    return relabelled or (FINALIZER in texts(has.get("finalizers")) and FINALIZER not in texts(had.get("finalizers")))


UNDO = Undo(id="repair_ipam_claim_metadata", weigh=_weigh, looks_again=came_to_run, losses=LOSSES)
