"""Whether a ControllerRevision is the copy of an object that KubeVirt made for another VM or for a snapshot.

Nothing in a ControllerRevision proves it. Whoever may create one chooses its name, its labels, its owner and its data,
and by the parameter `fieldManager` the manager that managedFields name; whoever may delete one may put another one in
its place. So all of that has to fit, and what it would give the VM has to be what its VMI runs with, which nobody but
KubeVirt writes. A copy in another namespace is never taken: whoever may write there is not who may write here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.domain.identity.identity import owned
from exporter.domain.instancetypes.matching import MatcherRole
from exporter.domain.instancetypes.resolving import Resolution, reference
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_snapshot import VirtualMachineSnapshot
from exporter.store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent

from ...managed_fields import writers
from ...remediation import Scene
from .._grounds import table
from ._running import differs

STORED = "v1beta1"
"""The version of the API that KubeVirt keeps copies in."""

_MAKER = "virt-controller"
_WRITTEN = ("/data", "/metadata/labels", "/metadata/ownerReferences")


def names(owner: str, of: str, uid: str, generation: int) -> tuple[str, str]:
    """What KubeVirt calls the copy of an object for a VM; up to 1.2 without the version.

    GenerateName in pkg/instancetype/revision of kubevirt/kubevirt. That of a snapshot has the snapshot's name in place
    of the VM's (pkg/storage/snapshot/source.go).
    """
    return f"{owner}-{of}-{STORED}-{uid}-{generation}", f"{owner}-{of}-{uid}-{generation}"


def unproven(
    scene: Scene, vm: VirtualMachine, lost: Resolution, revision: ControllerRevision, whole: Mapping[str, Any]
) -> str:
    """Why a ControllerRevision of the VM's namespace is not certainly the copy that is lost; empty where it is."""
    if revision.deleting is not None:
        return "it is being deleted"
    return _foreign(scene, lost, revision) or _written(whole) or _other(scene, vm, lost, whole)


def _foreign(scene: Scene, lost: Resolution, revision: ControllerRevision) -> str:
    """Why it is of no VM or snapshot that lives and refers to it."""
    stash, owner = revision.stash, revision.owner_name
    if stash is None or revision.name not in names(owner, stash.object_name, stash.object_uid, stash.object_generation):
        return f"KubeVirt would not have called it so for {revision.owner_kind or 'no owner'} {owner}".rstrip()
    if revision.owner_kind == "VirtualMachine":
        holder = scene.named(VirtualMachine, revision.namespace, owner)
        wanted = reference(holder, lost.role) if holder is not None and holder.uid == revision.owner_uid else None
        refers = wanted is not None and revision.name in (wanted.pin, wanted.revision)
    else:
        snapshot = scene.named(VirtualMachineSnapshot, revision.namespace, owner)
        mine = snapshot is not None and snapshot.uid == revision.owner_uid
        contents = scene.within(VirtualMachineSnapshotContent, revision.namespace)
        refers = mine and any(each.snapshot == owner and revision.name in each.pins for each in contents)
    return "" if refers else f"no {revision.owner_kind} {owner} with the UID of its owner refers to it"


def _written(whole: Mapping[str, Any]) -> str:
    """Who else than KubeVirt wrote what it says; which, if nobody did, still proves nothing."""
    for path in _WRITTEN:
        found = sorted(each.manager for each in writers(whole, path))
        if not found:
            return f"managedFields do not say who wrote its {path.rpartition('/')[2]}"
        if others := [each for each in found if each != _MAKER]:
            return f"{others[0]} wrote its {path.rpartition('/')[2]}"
    return ""


def _other(scene: Scene, vm: VirtualMachine, lost: Resolution, whole: Mapping[str, Any]) -> str:
    if lost.role is not MatcherRole.INSTANCETYPE:
        return "nothing proves what a preference said"
    runs = running_spec(scene, vm)
    if runs is None:
        return f"nothing proves what it says while {vm.ref} does not run"
    template = table(table(scene.whole(VirtualMachine.KIND, vm.namespace, vm.name)).get("spec")).get("template")
    return differs(table(whole.get("data")).get("spec"), runs, table(table(template).get("spec")))


def running_spec(scene: Scene, vm: VirtualMachine) -> Mapping[str, Any] | None:
    """The spec of its VMI; None where it does not run."""
    vmi = owned(scene.named(VirtualMachineInstance, vm.namespace, vm.name), vm)
    whole = scene.whole(VirtualMachineInstance.KIND, vm.namespace, vm.name) if vmi is not None else None
    return table(whole.get("spec")) if whole is not None else None
