"""Nobody refers to a copy of an instancetype."""

from __future__ import annotations

from demo.fleet import instancetypes as its
from tests.cluster import fleet
from tests.cluster.resources import CONTROLLER_REVISIONS
from tests.cluster.stage import Stage

from ._fault import Fault, copy_of_db, instancetype

__all__ = ["FAULTS"]


def _orphan_revision(stage: Stage) -> None:
    of, vm = instancetype(stage), stage.client.create(fleet.vm(stage.namespace, "db"))
    stage.client.create(its.copy(vm, of))


FAULTS = (
    Fault(
        "orphan_revision",
        "delete_orphan_revision",
        "OrphanedRevision",
        _orphan_revision,
        CONTROLLER_REVISIONS,
        copy_of_db,
        verb="delete",
        undone="created again",
        aged=True,
    ),
)
