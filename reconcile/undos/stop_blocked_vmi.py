"""A VM that was stopped starts as soon as its run strategy is what it was, if that starts it."""

from __future__ import annotations

from exporter.model.kinds import namespace, virtual_machine, virtual_machine_instance, virtual_machine_restore
from exporter.model.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.model.kinds.virtual_machine_restore import VirtualMachineRestore

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import NO_SNAPSHOT_OR_RESTORE, ending, saving, table, tables
from ..undo import Given, Taken, Undo

__all__ = ["UNDO"]


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    whole = scene.of(ref) or {}
    if refused := ending(scene, ref, whole) or saving(whole) or _restored(scene, ref.namespace, ref.name):
        return refused
    if tables(table(whole.get("status")).get("stateChangeRequests")):
        return Refused("no_request", f"{ref} has a request to start or stop that is not done yet")
    if table(taken.before.get("spec")).get("runStrategy") == "Manual":
        start = f"virtctl start -n {ref.namespace} {ref.name}"
        return Given(effect=f"{ref} has run strategy Manual again, and is started by {start}.")
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if vmi is not None and not vmi.final:
        return Given(effect=f"{ref} starts again once its guest, which is still there, has shut down.")
    return Given(effect=f"{ref} starts, on a node that takes it; while none does, it waits for one.")


def _restored(scene: Scene, within: str, name: str) -> Refused | None:
    for each in scene.within(VirtualMachineRestore, within):
        if each.active and each.target == name:
            return Refused("no_snapshot_or_restore", f"{each.ref} restores VM {name}")
    return None


UNDO = Undo(
    id="stop_blocked_vmi",
    reads=(virtual_machine.KIND, virtual_machine_instance.KIND, virtual_machine_restore.KIND, namespace.KIND),
    weigh=_weigh,
    preconditions={
        "not_being_deleted": "the VM is not being deleted",
        "namespace_active": "its namespace is not being deleted",
        **NO_SNAPSHOT_OR_RESTORE,
        "no_request": "the VM has no request to start or stop that is not done yet",
    },
)
