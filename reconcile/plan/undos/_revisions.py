"""What the undos have in common after which a ControllerRevision of an instancetype or preference is gone."""

from __future__ import annotations

from exporter.store.indexes.instancetypes import REVISION, revision_key
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_pool import VirtualMachinePool
from exporter.store.kinds.virtual_machine_restore import VirtualMachineRestore
from exporter.store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from exporter.store.record import Record, Ref
from exporter.store.text.naming import named

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Loss, Lost

READS = (
    ControllerRevision.KIND,
    VirtualMachine.KIND,
    VirtualMachineInstance.KIND,
    VirtualMachinePool.KIND,
    VirtualMachineSnapshotContent.KIND,
    VirtualMachineRestore.KIND,
)
INDEXES = (REVISION,)
PRECONDITIONS = {"no_restore": "no restore of a VM in the namespace is in progress"}
LOSSES = {
    "not_needed": (
        Lost.COPY,
        "no VM, pool or snapshot, and no VMI that has not ended, refers to the ControllerRevision",
    )
}


def going(scene: Scene, ref: Ref, effect: str) -> Given | Refused:
    """What it comes to that a ControllerRevision is deleted, after the sentence that says so."""
    restoring = next((each for each in scene.within(VirtualMachineRestore, ref.namespace) if each.active), None)
    if restoring is not None:
        return Refused("no_restore", f"{restoring.ref} may be about to refer to {ref}")
    found = [each for each in scene.sharing(REVISION, revision_key(ref.namespace, ref.name)) if _needs(each)]
    if not found:
        return Given(effect=f"{effect} Nothing refers to it.")
    who = named(sorted(each.ref for each in found)[:5], len(found))
    why = f"{who} refer{'s' if len(found) == 1 else ''} to {ref}, and without it KubeVirt neither starts nor stops a VM"
    return Given(effect=f"{effect} {why}.", losses=(Loss("not_needed", f"{ref}, the copy of {who}", why),))


def _needs(record: Record) -> bool:
    ended = isinstance(record, VirtualMachineInstance) and record.final
    return not ended and not isinstance(record, ControllerRevision)
