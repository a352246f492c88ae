"""A ControllerRevision that was restored is needed by then: without it KubeVirt neither starts nor stops the VM."""

from __future__ import annotations

from exporter.store.indexes.instancetypes import REVISION, revision_key
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_pool import VirtualMachinePool
from exporter.store.kinds.virtual_machine_restore import VirtualMachineRestore
from exporter.store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from exporter.store.record import Record
from exporter.store.text.naming import named

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Loss, Lost, Taken, Undo

__all__ = ["UNDO"]


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    restoring = next((each for each in scene.within(VirtualMachineRestore, ref.namespace) if each.active), None)
    if restoring is not None:
        return Refused("no_restore", f"{restoring.ref} may be about to refer to {ref}")
    found = [each for each in scene.sharing(REVISION, revision_key(ref.namespace, ref.name)) if _needs(each)]
    effect = f"{ref} is gone."
    if not found:
        return Given(effect=f"{effect} Nothing refers to it.")
    who = named(sorted(each.ref for each in found)[:5], len(found))
    why = f"{who} refer{'s' if len(found) == 1 else ''} to {ref}, and without it KubeVirt neither starts nor stops a VM"
    return Given(effect=f"{effect} {why}.", losses=(Loss("not_needed", f"{ref}, the copy of {who}", why),))


def _needs(record: Record) -> bool:
    ended = isinstance(record, VirtualMachineInstance) and record.final
    return not ended and not isinstance(record, ControllerRevision)


UNDO = Undo(
    id="restash_missing_revision",
    reads=(
        ControllerRevision.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachinePool.KIND,
        VirtualMachineSnapshotContent.KIND,
        VirtualMachineRestore.KIND,
    ),
    indexes=(REVISION,),
    weigh=_weigh,
    preconditions={"no_restore": "no restore of a VM in the namespace is in progress"},
    losses={
        "not_needed": (
            Lost.COPY,
            "no VM, pool or snapshot, and no VMI that has not ended, refers to the ControllerRevision",
        ),
    },
)
