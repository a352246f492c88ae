"""Makes a VM the owner of the ControllerRevision that it depends on, where nobody is.

KubeVirt gives a copy of an instancetype or preference one owner, the VM that it is for, and both are deleted together
(CreateControllerRevision in pkg/instancetype/revision/store.go of kubevirt/kubevirt). One without an owner is left
behind: so it is after `kubectl delete vm --cascade=orphan`, or where a backup restored objects without their owners;
KubeVirt takes it for a VM of the same name again, and writes no owner then. One whose owner is an earlier VM of the
name is about to be collected under the VM. Its restores claim a ControllerRevision as it is done here, with one owner
in the place of all others (claimInstancetypeControllerRevisionOwnership in pkg/storage/snapshot/restore.go).

That is done only for what KubeVirt would have called so for this VM, by the name, by the labels and by what is in it,
and only where no other VM, pool or snapshot refers to it: they would lose it together with the VM. What another VM
owns, a snapshot, or anything else, stays theirs; then this VM needs a ControllerRevision of its own.

Undo: the owner that it had is put back, or none. An earlier VM as the owner has garbage collection delete it at once:
while the VM needs it, that has to be accepted.
"""

from __future__ import annotations

from exporter.findings.finding import Finding
from exporter.store.kinds.instancetypes import INSTANCETYPES
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...guards import guard
from ...patterns import Begins, Each, Is, Like
from ...plan import Add, Op, Patch, Plan, Refused, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import an_owner, owned_by, table, tables
from ._copies import names
from ._instancetypes import KEPT, LABEL, LOSSES, Held, copied, going, held, others, owner_reference

_PATH = "/metadata/ownerReferences"


@guard(
    held,
    KEPT,
    {
        "made_for_it": "name, labels and content of the ControllerRevision are as KubeVirt saves them for the VM",
        "owner_gone": "the ControllerRevision has no owner, or only an earlier VM of the same name that is gone",
        "needed_by_it_alone": "no other VM, no pool, no snapshot and no VMI of another VM refers to the "
        "ControllerRevision",
    },
    others,
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    found = held(finding, scene)
    if isinstance(found, Refused):
        return found
    if found.kubevirt.reference_policy != "reference":
        policy = found.kubevirt.reference_policy
        return Refused("references_kept", f"KubeVirt's referencePolicy is {policy}: it might be about to expand the VM")
    why = _not_for_it(found)
    if why:
        return Refused("made_for_it", f"{found.revision.ref} is not certainly a copy that KubeVirt made for it: {why}")
    refused = _owned(scene, found)
    if refused is not None:
        return refused
    if needing := others(scene, found):
        lost = f"{found.revision.ref} would be deleted together with {found.vm.ref}"
        return Refused("needed_by_it_alone", f"{needing[0].ref} refers to it too, and {lost}")
    had = table(found.whole.get("metadata")).get("ownerReferences")
    owner = owner_reference(found.vm)
    ops: tuple[Op, ...] = (Test(_PATH, had), Replace(_PATH, [owner])) if had else (Add(_PATH, [owner]),)
    before = "Until now, garbage collection can delete it in use." if had else "Until now it is left behind."
    return REMEDIATION.planned(
        finding,
        Patch(target=found.revision.ref, ops=ops),
        vm=found.vm.name,
        effect=f"{found.revision.ref} belongs to {found.vm.ref}, and is deleted together with it. {before} "
        "Nothing else changes for the VM.",
    )


def _not_for_it(found: Held) -> str:
    """Why KubeVirt would not have made the ControllerRevision for this VM as it is; empty where it would."""
    says = copied(found.whole)
    if says is None:
        return "its content has no kind or version"
    labels = table(table(found.whole.get("metadata")).get("labels"))
    for name, value in says.items():
        if labels.get(f"{LABEL}{name}") != value:
            return f"its label {LABEL}{name} is not {value}, as its content says"
    called = names(found.vm.name, says["name"], says["uid"], int(says["generation"]))
    return "" if found.revision.name in called else f"its name would be {called[0]}"


def _owned(scene: Scene, found: Held) -> Refused | None:
    """Refuses where somebody may own it who is not gone."""
    listed = table(found.whole.get("metadata")).get("ownerReferences") or []
    for owner in listed if isinstance(listed, list) else [listed]:
        kind, name, uid = (table(owner).get(each) for each in ("kind", "name", "uid"))
        group = str(table(owner).get("apiVersion")).partition("/")[0]
        if (group, kind, name) != ("kubevirt.io", "VirtualMachine", found.vm.name) or not uid:
            return Refused("owner_gone", f"{found.revision.ref} belongs to {kind} {name} of {group}")
        elsewhere = next((each for each in scene.all(VirtualMachine) if each.uid == uid), None)
        if elsewhere is not None and elsewhere.ref != found.vm.ref:
            return Refused("owner_gone", f"{found.revision.ref} belongs to {elsewhere.ref}, by its UID")
    return None


_OF_VMS = Each(an_owner(apiVersion=Begins("kubevirt.io/"), kind="VirtualMachine"))
_COPY = Like(data=Like(apiVersion=Begins("instancetype.kubevirt.io/"), kind=Is(*(each.name for each in INSTANCETYPES))))
REMEDIATION = Remediation(
    id="adopt_revision",
    title="Make a VM the owner of its ControllerRevision",
    writes=(
        Write(
            "apps",
            "controllerrevisions",
            ("patch",),
            (Patched(Field(_PATH, to=owned_by("VirtualMachine"), was=_OF_VMS), old=_COPY),),
        ),
        # The owner reference has blockOwnerDeletion: needed where OwnerReferencesPermissionEnforcement is on.
        Write("kubevirt.io", "virtualmachines/finalizers", ("update",)),
    ),
    plan=_plan,
    risk=Risk.NONE,
    undo="restore its earlier owner, or none",
)


# An owner that is gone has garbage collection delete the ControllerRevision at once; without one it is left behind.


@guard(going)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref, subject = taken.plan.target, taken.plan.subject
    owners = tables(table(taken.before.get("metadata")).get("ownerReferences"))
    if not owners:
        return UndoEffect(effect=f"{ref} has no owner again, and is left behind when {subject} is deleted.")
    if any(each.get("uid") == subject.uid for each in owners):
        return UndoEffect(effect=f"{ref} belongs to {subject}, which does not control it.")
    return going(scene, ref, f"{ref} belongs to a VM that is gone, and garbage collection deletes it.")


UNDO = Undo(id="adopt_revision", weigh=_weigh, losses=LOSSES)
