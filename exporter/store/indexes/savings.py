"""VMs that are saved in a snapshot or restored from one."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.virtual_machine import VirtualMachine
from ..kinds.virtual_machine_restore import VirtualMachineRestore
from ..kinds.virtual_machine_snapshot import VirtualMachineSnapshot
from ..record import Record
from .networks import vm_key


def _saving(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineSnapshot):
        name = record.source if record.active else ""
    elif isinstance(record, VirtualMachineRestore):
        name = record.target if record.active else ""
    else:
        name = record.name if isinstance(record, VirtualMachine) and record.locked_by else ""
    return (vm_key(record.namespace, name),) if name else ()


def _restored_from(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineSnapshot):
        return (vm_key(record.namespace, record.name),)
    restores = isinstance(record, VirtualMachineRestore) and record.active and record.snapshot
    return (vm_key(record.namespace, restores),) if restores else ()


# Snapshots and restores that are in progress, by their VM, and VMs that are locked by one.
SAVING = Index(
    "VM that is saved or restored",
    _saving,
    of=(VirtualMachineSnapshot, VirtualMachineRestore, VirtualMachine),
    namespaced=True,
)
# Snapshots, and the restores in progress of each.
RESTORED_FROM = Index(
    "snapshot that is restored", _restored_from, of=(VirtualMachineSnapshot, VirtualMachineRestore), namespaced=True
)
