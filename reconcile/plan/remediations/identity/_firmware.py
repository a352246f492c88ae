"""The firmware in a VM's template: how it is changed, and what forbids that.

KubeVirt's own synchronizer (pkg/virt-controller/watch/vm/firmware.go) changes it in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from exporter.store.kinds.virtual_machine_restore import VirtualMachineRestore
from exporter.store.record import Ref

from ...plan import Add, Op, Refused, Test
from ...remediation import Scene
from .._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, controller, ending, table, under_way

READS = (
    VirtualMachine.KIND,
    VirtualMachineInstance.KIND,
    VirtualMachineInstanceMigration.KIND,
    KubeVirt.KIND,
    Namespace.KIND,
    *SAVERS,
)
PRECONDITIONS = {
    "stands_alone": "no pool or other controller makes the VM from a template, which would have to change instead",
    "has_domain": "the VM has a template with a domain",
    **NO_SNAPSHOT_OR_RESTORE,
    "not_migrating": "no migration of the VM is in progress, and none is awaited",
}
PATH = "/spec/template/spec/domain/firmware"


def vm_of(finding: Finding, scene: Scene) -> tuple[Mapping[str, Any], VirtualMachine] | Refused:
    """The VM that a finding is about, as it is stored and as it is read; else why there is none to change."""
    ref = finding.subject
    if ref.kind != "VirtualMachine":
        return Refused("is_a_vm", f"{ref} has no VM, and firmware and interfaces of a VMI can't be changed")
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    return (whole, vm) if whole is not None and vm is not None else Refused("same_object", f"{ref} does not exist")


def firmware_of(vm: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a VM's template says of the firmware; None where it says nothing."""
    found = _domain(vm).get("firmware")
    return None if found is None else table(found)


def put(firmware: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> tuple[Op, ...]:
    """Sets fields of the firmware, where it still is what it was; its other fields stay."""
    if firmware is None:
        return (Add(path=PATH, value=dict(fields)),)
    return (Test(path=PATH, value=firmware), *(Add(path=f"{PATH}/{name}", value=fields[name]) for name in fields))


def restores_of(scene: Scene, vm: Ref) -> list[VirtualMachineRestore]:
    return [each for each in scene.within(VirtualMachineRestore, vm.namespace) if each.target == vm.name]


def forbidden(scene: Scene, vm: VirtualMachine, whole: Mapping[str, Any]) -> Refused | None:
    """Why nobody may change the VM's firmware now, whatever it would be changed to."""
    owner = controller(whole)
    if owner:
        return Refused("stands_alone", f"{vm.ref} is made by {owner}: change the firmware in its template")
    if not _domain(whole):
        return Refused("has_domain", f"{vm.ref} has no template with a domain")
    if refused := ending(scene, vm.ref, whole):
        return refused
    if refused := under_way(scene, vm.namespace, (vm.name,)):
        return refused
    if moving := next(_moving(scene, vm), ""):
        return Refused("not_migrating", f"{vm.ref} {moving}")
    return None


def _domain(vm: Mapping[str, Any]) -> Mapping[str, Any]:
    template = table(table(vm.get("spec")).get("template"))
    return table(table(template.get("spec")).get("domain"))


def _moving(scene: Scene, vm: VirtualMachine) -> Iterator[str]:
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vm.run_strategy == "WaitAsReceiver" or (vmi is not None and vmi.phase == "WaitingForSync"):
        yield "awaits a VMI that migrates to it, with the UUID that this has"
    if vmi is not None and vmi.migrating:
        yield "has a VMI that is migrating"
    for each in scene.within(VirtualMachineInstanceMigration, vm.namespace):
        if each.vmi == vm.name and not each.finished:
            yield f"has a VMI of which migration {each.name} has not finished"
