"""The old UUID is free for the VM as long as nobody else has it, and its guest does not know the new one."""

from __future__ import annotations

from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Taken, Undo
from ._firmware import IDENTITY, LOSSES, PRECONDITIONS, READS, weighed, written_with

__all__ = ["UNDO"]


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    return weighed(taken, scene, _started)


def _started(taken: Taken, scene: Scene, vm: VirtualMachine) -> str:
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vmi is not None:
        return f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}"
    launchers = [each.ref for each in scene.within(Pod, vm.namespace) if each.domain == vm.name]
    if launchers:
        return f"{launchers[0]} runs, or may run, the guest of {vm.ref}"
    return written_with(taken, scene, vm)


UNDO = Undo(
    id="reassign_firmware_uuid",
    reads=(*READS, Pod.KIND),
    indexes=(IDENTITY,),
    weigh=_weigh,
    preconditions=PRECONDITIONS,
    losses=LOSSES,
)
