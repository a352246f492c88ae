"""The old text may come back as long as the guest does not know the new UUID: it identifies no VM."""

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
    id="replace_invalid_uuid",
    reads=(*READS, Pod.KIND),
    indexes=(IDENTITY,),
    weigh=_weigh,
    preconditions=PRECONDITIONS,
    losses={name: loss for name, loss in LOSSES.items() if name == "same_identity"},
)
