"""A VM that was stopped starts as soon as its run strategy is what it was, if that starts it."""

from __future__ import annotations

from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, ending, table, tables, under_way
from ..undo import Given, Taken, Undo


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    whole = scene.of(ref) or {}
    if refused := ending(scene, ref, whole) or under_way(scene, ref.namespace, (ref.name,)):
        return refused
    if tables(table(whole.get("status")).get("stateChangeRequests")):
        return Refused("no_request", f"{ref} has a request to start or stop that is not done yet")
    if table(taken.before.get("spec")).get("runStrategy") == "Manual":
        start = f"virtctl start -n {ref.namespace} {ref.name}"
        return Given(effect=f"The run strategy of {ref} is Manual again, which does not start it; to start it: {start}")
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if vmi is not None and not vmi.final:
        return Given(effect=f"{ref} starts again once its guest, which is still there, has shut down.")
    return Given(effect=f"{ref} starts, on a node that takes it; while none does, it waits for one.")


UNDO = Undo(
    id="stop_blocked_vmi",
    reads=(*SAVERS, VirtualMachineInstance.KIND, Namespace.KIND),
    weigh=_weigh,
    preconditions={
        "not_being_deleted": "the VM is not being deleted",
        "namespace_active": "its namespace is not being deleted",
        **NO_SNAPSHOT_OR_RESTORE,
        "no_request": "the VM has no request to start or stop that is not done yet",
    },
)
