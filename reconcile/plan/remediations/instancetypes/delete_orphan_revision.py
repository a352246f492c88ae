"""Deletes a ControllerRevision of an instancetype or preference that nothing needs.

KubeVirt leaves one behind when a VM changes to another object, is pinned, or is expanded (kubevirt/kubevirt#13117).
That no VM, VMI, snapshot or restore needs it is what the check reports, on fresh reads: a VMI needs the ones that it
was started with, since without them KubeVirt no longer sees that a restart is required. One is left alone for a day
after its creation, since KubeVirt makes it first and refers to it then. It is left alone too while a VM that its name
begins with has no copy of the object that it wants: KubeVirt takes the one that has that name
(pkg/instancetype/revision/store.go of kubevirt/kubevirt).

Backups outside of the cluster may name it. A VM that comes back from one then has no ControllerRevision, for which
`restash_missing_revision` is.

Undo: create it again from the ledger, which keeps it complete; VMs refer to it only by name.
"""

from __future__ import annotations

from exporter.domain.instancetypes.resolving import reference
from exporter.facts.matching import ROLES
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...guards import guard
from ...patterns import EMPTY, Begins, Each, Like
from ...plan import Delete, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import NoUndo
from ...writes import Deleted, Write
from .._grounds import ending, table, tables, texts, under_way

_LEFT_ALONE = 24 * 3600.0  # seconds since its creation


@guard(
    ending,
    {
        "owned_by_a_vm": "the ControllerRevision has no owner but VMs",
        "no_finalizer": "the ControllerRevision has no finalizer",
        "a_day_old": "the ControllerRevision was created at least a day ago",
        "not_awaited": "no VM without a saved revision would use the ControllerRevision by name",
    },
    under_way,
    reads=(ControllerRevision.KIND, VirtualMachine.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, revision = scene.of(ref), scene.named(ControllerRevision, ref.namespace, ref.name)
    if whole is None or revision is None or revision.stash is None:
        return Refused("same_object", f"{ref} does not exist")
    meta = table(whole.get("metadata"))
    owners = (revision.owner_name,) if revision.owner_name else ()
    # What is restored or cloned may be about to refer to it, whatever VM that is.
    refused = ending(scene, ref, whole) or under_way(scene, ref.namespace, owners, lambda _: True)
    if refused is not None:
        return refused
    for owner in tables(meta.get("ownerReferences")):
        group = str(owner.get("apiVersion")).partition("/")[0]
        if (group, owner.get("kind")) != ("kubevirt.io", "VirtualMachine"):
            return Refused("owned_by_a_vm", f"{ref} belongs to {owner.get('kind')} {owner.get('name')} of {group}")
    if finalizers := meta.get("finalizers"):
        name = next(iter(texts(finalizers)), "of an unknown name")
        return Refused("no_finalizer", f"{ref} has finalizer {name}: a controller waits for its deletion")
    if revision.created is None or scene.now - revision.created < _LEFT_ALONE:
        return Refused("a_day_old", f"{ref} is younger than a day: KubeVirt might be about to refer to it")
    if vm := _awaiting(revision, scene):
        return Refused("not_awaited", f"{vm.ref} has no saved revision: KubeVirt might be about to refer to {ref}")
    stash = revision.stash
    return REMEDIATION.planned(
        finding,
        Delete(target=ref),
        effect=f"The copy of {stash.object_kind} {stash.object_name}, generation {stash.object_generation}, goes. "
        "No VM, VMI, snapshot or restore in this cluster needs it.",
    )


def _awaiting(revision: ControllerRevision, scene: Scene) -> VirtualMachine | None:
    """A VM that wants an object, has no copy of it, and would name its copy as this one is named."""
    for vm in scene.within(VirtualMachine, revision.namespace):
        for role in ROLES:
            wanted = reference(vm, role)
            if wanted is None or not wanted.wanted or wanted.pin:
                continue
            if not revision.name.startswith(f"{vm.name}-{wanted.name}-"):
                continue
            has = scene.named(ControllerRevision, vm.namespace, wanted.revision) if wanted.revision else None
            if has is None or has.stash is None or has.stash.object_name != wanted.name:
                return vm
    return None


_OWNER = Like(apiVersion=Begins("kubevirt.io/"), kind="VirtualMachine")
_COPY = Like(
    metadata=Like(ownerReferences=Each(_OWNER), finalizers=EMPTY),
    data=Like(apiVersion=Begins("instancetype.kubevirt.io/")),
)
REMEDIATION = Remediation(
    id="delete_orphan_revision",
    title="Delete an orphaned ControllerRevision",
    writes=(Write("apps", "controllerrevisions", ("delete",), (Deleted(_COPY),)),),
    plan=_plan,
    risk=Risk.NONE,
    undo="create it again from the ledger, which keeps it complete; VMs refer to it only by name",
)


# A ControllerRevision that a person creates again is found by its name, if its owner is there.

UNDO = NoUndo(
    "delete_orphan_revision",
    "Objects refer to the ControllerRevision only by name, so they use it once it is created again. If no VM has the "
    "UID in its owner reference, garbage collection deletes it again. Remove the owner reference first.",
)
