"""That a VM is stopped and stays so, and that its owner has said that it may get another address."""

from __future__ import annotations

from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...annotations import PREFIX
from ...plan import Refused
from ...remediation import Scene
from .._grounds import table, tables
from ._ipam_claims import namesakes

ALLOWED = f"{PREFIX}new-address-allowed"
"""Annotation of a VM, with the value "true": it may start with other addresses than it had."""

VM_STOPPED = {
    "vm_stopped": "the VM has the run strategy Halted or Manual, is not asked to start, and has no VMI; no other VM "
    "has an interface whose IPAMClaim has this name"
}
GIVEN_UP = {"new_address_allowed": f'the VM has the annotation {ALLOWED}: "true", or the IPAMClaim holds no address'}
NEW_ADDRESS = "The VM gets another address when it starts."
_WAITING = ("Halted", "Manual")  # start nothing by themselves


def awake(scene: Scene, claim: IPAMClaim, vm: VirtualMachine) -> Refused | None:
    others = [each for each in namesakes(scene, VirtualMachine, claim) if each.ref != vm.ref]
    if others:
        return Refused("vm_stopped", f"{others[0].ref} may use the IPAMClaim too")
    if vm.invalid or vm.run_strategy not in _WAITING:
        why = f"has run strategy {vm.run_strategy or '(none)'}: KubeVirt starts it"
        return Refused("vm_stopped", f"{vm.ref} {f'may start at any moment: {vm.invalid}' if vm.invalid else why}")
    # A restart is a stop and a start; the stop may be over before it is struck from the list.
    requests = tables(table((scene.of(vm.ref) or {}).get("status")).get("stateChangeRequests"))
    if any(each.get("action") == "Start" for each in requests):
        return Refused("vm_stopped", f"{vm.ref} is asked to start")
    if vmis := namesakes(scene, VirtualMachineInstance, claim):
        return Refused("vm_stopped", f"{vmis[0].ref} exists")
    return None


def allows(scene: Scene, vm: VirtualMachine) -> bool:
    whole = scene.of(vm.ref) or {}
    return table(table(whole.get("metadata")).get("annotations")).get(ALLOWED) == "true"


def kept(scene: Scene, claim: IPAMClaim, vm: VirtualMachine) -> Refused | None:
    """Refuses while the VM is to keep its address: nobody but its owner knows who else relies on that."""
    if not claim.hosts or allows(scene, vm):
        return None
    how = f"kubectl annotate virtualmachines.kubevirt.io -n {vm.namespace} {vm.name} {ALLOWED}=true"
    return Refused(
        "new_address_allowed", f"{vm.ref} would lose {', '.join(claim.hosts)}; its owner allows that by: {how}"
    )
