"""A VM that was started again is stopped as soon as its run strategy is Halted: its guest is shut down."""

from __future__ import annotations

from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, ending, table, tables, under_way
from ..undo import Given, Loss, Lost, Taken, Undo


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    whole = scene.of(ref) or {}
    if refused := ending(scene, ref, whole) or under_way(scene, ref.namespace, (ref.name,)):
        return refused
    if tables(table(whole.get("status")).get("stateChangeRequests")):
        return Refused("no_request", f"{ref} has a request to start or stop that is not done yet")
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if vmi is None or vmi.final:
        return Given(effect=f"{ref} stays off; the annotation says again that it was stopped for the drain.")
    why = f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}: its guest is shut down then"
    loss = Loss("not_running", f"what the guest of {ref} does, and what its disks do not keep", why)
    return Given(effect=f"KubeVirt shuts the guest of {ref} down, and nothing starts it by itself.", losses=(loss,))


UNDO = Undo(
    id="start_stopped_vm",
    reads=(*SAVERS, VirtualMachineInstance.KIND, Namespace.KIND),
    weigh=_weigh,
    preconditions={
        "not_being_deleted": "the VM is not being deleted",
        "namespace_active": "its namespace is not being deleted",
        **NO_SNAPSHOT_OR_RESTORE,
        "no_request": "the VM has no request to start or stop that is not done yet",
    },
    losses={"not_running": (Lost.DOWNTIME, "the VM has no VMI that has not ended")},
)
