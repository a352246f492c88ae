"""A migration is taken back by its deletion, as long as KubeVirt can abort it."""

from __future__ import annotations

from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import table
from ..undo import Given, Taken, Undo

_POST_COPY = "PostCopy"  # status.migrationState.mode of a VMI


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref, subject = taken.plan.target, taken.plan.subject
    migration = scene.named(VirtualMachineInstanceMigration, ref.namespace, ref.name)
    if migration is None:
        return Refused("same_object", f"{ref} does not exist")
    if migration.deleting is not None:
        return Refused("not_being_deleted", f"{migration.ref} is being deleted already")
    if migration.finished:
        why = f"{migration.ref} has ended, as {migration.phase}: its deletion takes nothing back; migrate the VMI again"
        return Refused("unfinished", why)
    whole = scene.of(subject)
    if whole is None:
        return Refused("vmi_is_there", f"{subject} with UID {subject.uid} is no longer there")
    state = table(table(whole.get("status")).get("migrationState"))
    if state.get("mode") == _POST_COPY and state.get("migrationUid") in (None, migration.uid):
        why = f"{subject} migrates by post-copy: its memory is on two nodes, and an abort would end the guest"
        return Refused("can_be_aborted", why)
    vmi = scene.named(VirtualMachineInstance, subject.namespace, subject.name)
    node = vmi.node if vmi is not None and vmi.node else "its node"
    request = f" The request to leave {vmi.evacuation} stays." if vmi is not None and vmi.evacuation else ""
    return Given(effect=f"KubeVirt aborts the migration, and {subject} stays on {node}.{request}")


UNDO = Undo(
    id="migrate_marked_vmi",
    reads=(VirtualMachineInstanceMigration.KIND, VirtualMachineInstance.KIND),
    weigh=_weigh,
    preconditions={
        "not_being_deleted": "the migration is not being deleted",
        "unfinished": "the migration has not ended",
        "vmi_is_there": "the VMI has the UID that it had",
        "can_be_aborted": "the VMI does not migrate by post-copy",
    },
)
