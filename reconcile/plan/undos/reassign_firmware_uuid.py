"""The old UUID is free for the VM as long as nobody else has it, and its guest does not know the new one."""

from __future__ import annotations

from exporter.store.kinds.pod import Pod

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Taken, Undo
from ._firmware import IDENTITY, LOSSES, PRECONDITIONS, READS, weighed
from ._identifying import started


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    return weighed(taken, scene, started)


UNDO = Undo(
    id="reassign_firmware_uuid",
    reads=(*READS, Pod.KIND),
    indexes=(IDENTITY,),
    weigh=_weigh,
    preconditions=PRECONDITIONS,
    losses=LOSSES,
)
