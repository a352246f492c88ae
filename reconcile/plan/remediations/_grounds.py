"""What forbids a write whichever remediation plans it, and how whole objects are read without trusting their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from exporter.facts.record import Record, Ref
from exporter.store.kind import ApiKind
from exporter.store.kinds.backups import Backup, Restore, VirtualMachineBackup
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.snapshots import VirtualMachineClone, VirtualMachineRestore, VirtualMachineSnapshot
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..guards import Needs, guard
from ..patterns import ANYTHING, EMPTY, PRESENT, Begins, Each, Exactly, Is, Like
from ..plan import Refused
from ..remediation import Scene


def table(value: Any) -> Mapping[str, Any]:
    """A map as it is; an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def tables(value: Any) -> list[Mapping[str, Any]]:
    """The maps of a list; none in place of anything else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def texts(value: Any) -> list[str]:
    """The texts of a list, such as finalizers; none in place of anything else."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def wholes(scene: Scene, kind: ApiKind[Any], records: Iterable[Record]) -> list[Mapping[str, Any]]:
    """The objects of the records, as far as they still exist; all are read at once."""
    found = [scene.whole(kind, each.namespace, each.name) for each in records]
    return [each for each in found if each is not None]


@guard(reads=(Namespace.KIND,))
def ending(scene: Scene, ref: Ref, whole: Mapping[str, Any]) -> Refused | None:
    """Refuses for an object that is being deleted, or whose namespace is."""
    if table(whole.get("metadata")).get("deletionTimestamp"):
        return Refused("not_being_deleted", f"{ref} is being deleted")
    if ref.namespace:
        namespace = scene.named(Namespace, ref.namespace, ref.namespace)
        if namespace is None or namespace.terminating:
            return Refused("namespace_active", f"namespace {ref.namespace} is being deleted")
    return None


@guard(
    {
        "no_snapshot_or_restore": "no snapshot, restore, clone or backup of the VM is in progress, according to "
        "these objects and the VM's status; no Restore or Backup of Velero includes the namespace"
    },
    reads=(
        VirtualMachine.KIND,
        VirtualMachineRestore.KIND,
        VirtualMachineSnapshot.KIND,
        VirtualMachineClone.KIND,
        VirtualMachineBackup.KIND,
        Restore.KIND,
        Backup.KIND,
    ),
)
def under_way(
    scene: Scene, namespace: str, vms: Iterable[str], concerns: Callable[[str], bool] = lambda _: False
) -> Refused | None:
    """Refuses while one of the VMs is saved, restored, cloned or backed up, or, of others, one that `concerns` is true
    for.

    The objects are asked, since the status of a VM says it later, and not at all of a VM that is yet to be created. One
    that does not say which VM it is of may be of any in its namespace.
    """
    names = tuple(vms)
    for name in names:
        if refused := _saving(scene.whole(VirtualMachine.KIND, namespace, name) or {}):
            return refused
    for each, of in _in_progress(scene, namespace):
        found = next((name for name in of if not name or name in names or concerns(name)), None)
        if found is not None:
            what = f"VM {found}" if found else "a VM that it does not name"
            return Refused("no_snapshot_or_restore", f"{each.ref}, of {what}, is in progress")
    velero: Iterable[Restore | Backup] = (*scene.all(Restore), *scene.all(Backup))
    for saved in velero:
        if saved.active and saved.namespaces.reach(namespace):
            return Refused(
                "no_snapshot_or_restore", f"Velero's {saved.ref} includes namespace {namespace}, and isn't finished"
            )
    return None


def _in_progress(scene: Scene, namespace: str) -> Iterator[tuple[Record, tuple[str, ...]]]:
    """What is in progress in a namespace by KubeVirt, with the VMs that it is of; an empty name is of one not known."""
    for restore in scene.within(VirtualMachineRestore, namespace):
        if restore.active:
            yield restore, (restore.target,)
    for snapshot in scene.within(VirtualMachineSnapshot, namespace):
        if snapshot.active:
            yield snapshot, (snapshot.source,)
    for backup in scene.within(VirtualMachineBackup, namespace):
        if backup.active:
            yield backup, (backup.source,)
    for clone in scene.within(VirtualMachineClone, namespace):
        if clone.active:
            yield clone, (clone.source, clone.target)


def _saving(vm: Mapping[str, Any]) -> Refused | None:
    """Refuses while the status of a VM, which is whole, names a snapshot or a restore: KubeVirt keeps it as it is."""
    status, name = table(vm.get("status")), table(vm.get("metadata")).get("name")
    for field, what in (("snapshotInProgress", "snapshot"), ("restoreInProgress", "restore")):
        if status.get(field):
            return Refused("no_snapshot_or_restore", f"{what} {status[field]} of VM {name} is in progress")
    return None


VM_STAYS = Needs(
    {"not_being_deleted": "the VM is not being deleted", "namespace_active": "its namespace is not being deleted"},
    ending,
)
"""Of an undo: `ending` refuses with names that are not those of every undo."""


def controller(whole: Mapping[str, Any]) -> str:
    """Kind and name of the object that controls this one; empty where none does."""
    for owner in tables(table(whole.get("metadata")).get("ownerReferences")):
        if owner.get("controller") or owner.get("kind") == "VirtualMachinePool":
            return f"{owner.get('kind')} {owner.get('name')}"
    return ""


# The VM of a VMI, and what of its state forbids a write.

_NOT_KEPT = frozenset(("containerDisk", "emptyDisk", "ephemeral"))  # volumes that are made anew at each start


@guard({"same_vm": "its VM exists with the UID that the VMI names"}, reads=(VirtualMachine.KIND,))
def owning_vm(vmi: VirtualMachineInstance, scene: Scene) -> Mapping[str, Any] | Refused:
    """The VM that owns a VMI, which has the same name; whole, and not being deleted."""
    vm = scene.whole(VirtualMachine.KIND, vmi.namespace, vmi.name)
    meta = (vm or {}).get("metadata") or {}
    if vm is None or meta.get("uid") != vmi.vm_uid:
        return Refused("same_vm", f"the VM with UID {vmi.vm_uid}, which owns {vmi.ref}, is not there")
    if meta.get("deletionTimestamp"):
        return Refused("not_being_deleted", f"VirtualMachine {vmi.namespace}/{vmi.name} is being deleted")
    return vm


@guard(reads=(VirtualMachineInstance.KIND,))
def lost_disks(vmi: VirtualMachineInstance, scene: Scene) -> tuple[str, ...]:
    """The disks of a VMI whose content is gone once it has stopped, each in a few words."""
    whole = scene.of(vmi.ref) or {}
    volumes = (whole.get("spec") or {}).get("volumes") or ()
    gone = (each for each in volumes if isinstance(each, dict) and not _NOT_KEPT.isdisjoint(each))
    return tuple(f"what the guest wrote to disk {each.get('name')}" for each in gone)


# What objects are like that several remediations write.

TERMINATING = Like(metadata=Like(deletionTimestamp=PRESENT))
LIVING = Like(metadata=Like(deletionTimestamp=EMPTY))


def an_owner(**values: Any) -> Exactly:
    """An owner reference with some of its values as given."""
    every = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return Exactly(**{**dict.fromkeys(every, ANYTHING), **values})


def owned_by(*kinds: str) -> Each:
    """One owner reference to an object of KubeVirt: to its controller, whose deletion it blocks."""
    group = Begins("kubevirt.io/")
    return Each(
        an_owner(
            apiVersion=group, kind=Is(*kinds), name=PRESENT, uid=PRESENT, controller=True, blockOwnerDeletion=True
        ),
        one=True,
    )
