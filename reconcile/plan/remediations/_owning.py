"""The VM of a VMI, and what of its state forbids a write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.kinds import virtual_machine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..plan import Refused
from ..remediation import Scene

_NOT_KEPT = frozenset(("containerDisk", "emptyDisk", "ephemeral"))  # volumes that are made anew at each start


def owning_vm(vmi: VirtualMachineInstance, scene: Scene) -> Mapping[str, Any] | Refused:
    """The VM that owns a VMI, which has the same name; whole, and not being deleted."""
    vm = scene.whole(virtual_machine.KIND, vmi.namespace, vmi.name)
    meta = (vm or {}).get("metadata") or {}
    if vm is None or meta.get("uid") != vmi.vm_uid:
        return Refused("same_vm", f"the VM with UID {vmi.vm_uid}, which owns {vmi.ref}, is not there")
    if meta.get("deletionTimestamp"):
        return Refused("not_being_deleted", f"VirtualMachine {vmi.namespace}/{vmi.name} is being deleted")
    return vm


def lost_disks(vmi: VirtualMachineInstance, scene: Scene) -> tuple[str, ...]:
    """The disks of a VMI whose content is gone once it has stopped, each in a few words."""
    whole = scene.of(vmi.ref) or {}
    volumes = (whole.get("spec") or {}).get("volumes") or ()
    gone = (each for each in volumes if isinstance(each, dict) and not _NOT_KEPT.isdisjoint(each))
    return tuple(f"what the guest wrote to disk {each.get('name')}" for each in gone)
