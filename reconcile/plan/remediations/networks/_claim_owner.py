"""The VM, or the VMI that stands alone, that owns an IPAMClaim or is to own it, and the reference by which it does."""

from __future__ import annotations

from typing import Any

from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...plan import Refused
from ...remediation import Scene

ClaimOwner = VirtualMachine | VirtualMachineInstance
OF_KUBEVIRT = ("VirtualMachine", "VirtualMachineInstance")
_API_VERSION = "kubevirt.io/v1"


Named = tuple[VirtualMachine | None, VirtualMachineInstance | None]


def named_owner(scene: Scene, claim: IPAMClaim, name: str) -> Named:
    """The VM and the VMI of a name in the IPAMClaim's namespace; none of no name."""
    if not name:
        return None, None
    within = claim.namespace
    return scene.named(VirtualMachine, within, name), scene.named(VirtualMachineInstance, within, name)


def unsettled(owner: ClaimOwner, vm: VirtualMachine | None, vmi: VirtualMachineInstance | None) -> Refused | None:
    """Refuses with `owner_lives` where the owner is going, or the VM and the VMI of its name do not belong together."""
    if owner.deleting is not None:
        return Refused("owner_lives", f"{owner.ref} is being deleted")
    if vmi is not None and vmi.vm_uid and vmi.vm_uid != (vm.uid if vm is not None else ""):
        return Refused("owner_lives", f"{vmi.ref} runs for a VM with UID {vmi.vm_uid}, which no longer exists")
    if isinstance(owner, VirtualMachine) and vmi is not None and not vmi.vm_uid:
        return Refused("owner_lives", f"{vmi.ref} is not of {owner.ref}: either may use the IPAMClaim")
    return None


def reference(owner: ClaimOwner) -> dict[str, Any]:
    """As ipam-extensions writes it (pkg/vminetworkscontroller, ownerReferenceFor)."""
    return {
        "apiVersion": _API_VERSION,
        "kind": owner.ref.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
