"""The copy that a VM depends on has no owner, as after `kubectl delete vm --cascade=orphan`."""

from __future__ import annotations

from demo.fleet import instancetypes as its
from tests.cluster.resources import CONTROLLER_REVISIONS, VMS
from tests.cluster.stage import Stage

from ._fault import Fault, copy_of_db, instancetype, sized

__all__ = ["FAULTS"]


def _ownerless(stage: Stage) -> None:
    of = instancetype(stage)
    sized(stage, of, copy_of_db(stage))
    kept = its.copy(stage.client.get(VMS, stage.namespace, "db"), of)
    del kept["metadata"]["ownerReferences"]
    stage.client.create(kept)


FAULTS = (Fault("ownerless", "adopt_revision", "RevisionNotOwned", _ownerless, CONTROLLER_REVISIONS, copy_of_db),)
