"""The UUID that was written is the one in use: where another one is put back, the guest sees that at its next start."""

from __future__ import annotations

from exporter.store.kinds.virtual_machine import VirtualMachine

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Taken, Undo
from ._firmware import IDENTITY, LOSSES, PRECONDITIONS, READS, weighed


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    return weighed(taken, scene, _in_use)


def _in_use(_: Taken, __: Scene, vm: VirtualMachine) -> str:
    return f"{vm.ref} had it in use when it was written"


UNDO = Undo(
    id="persist_firmware_uuid",
    reads=READS,
    indexes=(IDENTITY,),
    weigh=_weigh,
    preconditions=PRECONDITIONS,
    losses=LOSSES,
)
