"""Without its labels KubeVirt deletes the ControllerRevision with the next event of a VM that names it."""

from __future__ import annotations

from ..plan import Refused
from ..remediation import Scene
from ..undo import Given, Taken, Undo
from ._revisions import INDEXES, LOSSES, PRECONDITIONS, READS, going


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    return going(scene, ref, f"{ref} has no labels of KubeVirt again, which deletes it under a VM that names it.")


UNDO = Undo(
    id="label_pinned_revision", reads=READS, indexes=INDEXES, weigh=_weigh, preconditions=PRECONDITIONS, losses=LOSSES
)
