"""An owner that is gone has garbage collection delete the ControllerRevision at once; without one it is left behind."""

from __future__ import annotations

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import table, tables
from ..undo import Given, Taken, Undo
from ._revisions import INDEXES, LOSSES, PRECONDITIONS, READS, going


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref, subject = taken.plan.target, taken.plan.subject
    owners = tables(table(taken.before.get("metadata")).get("ownerReferences"))
    if not owners:
        return Given(effect=f"{ref} has no owner again, and is left behind when {subject} is deleted.")
    if any(each.get("uid") == subject.uid for each in owners):
        return Given(effect=f"{ref} belongs to {subject}, which does not control it.")
    return going(scene, ref, f"{ref} belongs to a VM that is gone, and garbage collection deletes it.")


UNDO = Undo(id="adopt_revision", reads=READS, indexes=INDEXES, weigh=_weigh, preconditions=PRECONDITIONS, losses=LOSSES)
