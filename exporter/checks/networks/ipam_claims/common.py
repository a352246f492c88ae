"""What the IPAMClaims of one VM have in common: looked through once, since there may be thousands of each."""

from __future__ import annotations

from heapq import nsmallest

from ....domain.networks.vm_networks import claim_name
from ....findings.check import View
from ....store.indexes.networks import VM, vm_key
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance

MOST_PODS = 100  # of one VM, or of one claim, that are compared with a claim; a VM that migrates has two


class Common:
    """Of one evaluation."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._launchers: dict[str, list[Pod]] = {}
        self._interfaces: dict[tuple[str, str, str], dict[str, list[tuple[str, str]]]] = {}

    def launchers(self, namespace: str, name: str) -> list[Pod]:
        """The pods of a VM, by name; of very many the first ones."""
        key = vm_key(namespace, name)
        if key not in self._launchers:
            own = key == self._view.partition
            pods = self._view.all(Pod) if own else self._view.members(VM, key, Pod)
            self._launchers[key] = nsmallest(MOST_PODS, pods, key=lambda each: each.name) if len(pods) > 1 else pods
        return self._launchers[key]

    def interfaces(self, vm: VirtualMachine | VirtualMachineInstance, claim: str) -> list[tuple[str, str]]:
        """(logical network, NAD or empty) of the VM's networks that the name of a claim stands for."""
        key = type(vm).__name__, vm.namespace, vm.name
        if key not in self._interfaces:
            found = self._interfaces[key] = {}
            for network, nad, _ in vm.networks:
                found.setdefault(claim_name(vm.name, network), []).append((network, nad))
        return self._interfaces[key].get(claim, [])
