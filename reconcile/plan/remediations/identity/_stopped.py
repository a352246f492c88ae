"""Whether a VM is off and stays off: what its guest is known by may change only then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent

from ...plan import Refused
from ...remediation import Scene
from .._grounds import table, tables

STOPPED = {"stopped": "the VM has no VMI and no launcher pod, and nothing starts it by itself"}
_STAYS_DOWN = ("Halted", "Manual")


def stopped(scene: Scene, vm: VirtualMachine, whole: Mapping[str, Any]) -> Refused | None:
    """Refuses unless nothing of the VM runs, and nothing starts it by itself."""
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vmi is not None:
        return Refused("stopped", f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}: stop the VM first")
    launchers = [each.ref for each in scene.within(Pod, vm.namespace) if each.domain == vm.name]
    if launchers:
        return Refused("stopped", f"{launchers[0]} still runs, or may run, the guest of {vm.ref}")
    if vm.invalid or vm.run_strategy not in _STAYS_DOWN:
        strategy = vm.invalid or f"its run strategy is {vm.run_strategy or 'not set'}"
        return Refused("stopped", f"{vm.ref} may start at any moment: {strategy}")
    if tables(table(whole.get("status")).get("stateChangeRequests")):
        return Refused("stopped", f"somebody has asked for {vm.ref} to be started or stopped")
    return None


def saved(scene: Scene, vm: VirtualMachine, what: str) -> str:
    """That a restore brings back what a snapshot has, as a sentence that goes on after another; empty without one."""
    found = (each for each in scene.within(VirtualMachineSnapshotContent, vm.namespace) if each.source == vm.name)
    names = sorted(each.snapshot or each.name for each in found)
    return f" Restoring snapshot {names[0]} brings {what} of its time back." if names else ""
