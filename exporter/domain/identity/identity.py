"""The identity of a VM, from its VirtualMachine and its VMI together."""

from __future__ import annotations

from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .firmware import legacy


def owned(vmi: VirtualMachineInstance | None, vm: VirtualMachine) -> VirtualMachineInstance | None:
    """The VMI of that name, where it is this VM's and has not ended."""
    return vmi if vmi is not None and vmi.vm_uid == vm.uid and not vmi.final else None


def next_boot(vm: VirtualMachine) -> str:
    """The comparable UUID that it starts with next time: its own, or the one that KubeVirt derives from its name.

    Empty where its own is invalid.
    """
    return vm.identity if vm.uuid.strip() else legacy(vm.name)


def effective(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> str:
    """The comparable UUID that it has: the running one, else that of its next start. `vmi` as `owned` gives it."""
    return (vmi.identity if vmi is not None else "") or next_boot(vm)


def identities(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> tuple[str, ...]:
    """All UUIDs that it has or will have: the effective one, then that of its next start, if that differs."""
    return tuple(dict.fromkeys(each for each in (effective(vm, vmi), next_boot(vm)) if each))
