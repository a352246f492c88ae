"""VMs of which one look says that nothing is wrong with their interfaces, as with almost all: none of the predicates is
asked then. They remain what decides: this knows of no finding, and only of some VMs that there is none.
"""

from __future__ import annotations

from ....domain.networks.vm_networks import VMNetwork, claim_name
from ....findings.check import View
from ....store.indexes.networks import CLAIM_NAME
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._referred import ReferredNads
from .predicates import too_long

_MOST = 50  # interfaces that are looked at without a pause


def evidently_well(view: View, vm: VirtualMachine | VirtualMachineInstance, nads: ReferredNads) -> bool:
    """Whether no predicate finds anything of the interfaces that it has: each whose network keeps addresses refers to a
    NAD in its own namespace, and has a claim that no other interface shares. False where that is not evident.
    """
    if len(vm.networks) > _MOST:
        return False
    names: set[str] = set()
    for network in vm.networks:
        nad = nads.of(vm.namespace, network[1])
        if nad is None or not nad.effective:
            continue  # it has no claim, and no predicate finds anything of it
        name = claim_name(vm.name, network[0])
        if nad.namespace != vm.namespace or name in names or not _claimed(view, vm, network, name):
            return False
        names.add(name)
    return True


def _claimed(view: View, vm: VirtualMachine | VirtualMachineInstance, network: VMNetwork, name: str) -> bool:
    """Whether the claim of a secondary network is there, and no VM of another name has one of the same name."""
    if not network[1] or too_long(vm.name, network[0]):
        return False
    found = view.sharing(CLAIM_NAME, f"{vm.namespace}/{name}")
    others = [each for each in found if not isinstance(each, IPAMClaim) and each.name != vm.name]
    return not others and any(isinstance(each, IPAMClaim) for each in found)
