"""A ControllerRevision that was restored is needed by then: without it KubeVirt neither starts nor stops the VM."""

from __future__ import annotations

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Taken, Undo
from ._revisions import INDEXES, LOSSES, PRECONDITIONS, READS, going


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    return going(scene, taken.plan.target, f"{taken.plan.target} is gone.")


UNDO = Undo(
    id="restash_missing_revision",
    reads=READS,
    indexes=INDEXES,
    weigh=_weigh,
    preconditions=PRECONDITIONS,
    losses=LOSSES,
)
