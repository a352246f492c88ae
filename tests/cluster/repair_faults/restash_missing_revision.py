"""The copy of an instancetype to which a VM refers is gone."""

from __future__ import annotations

from demo.fleet import instancetypes as its
from tests.cluster.resources import CONTROLLER_REVISIONS, VMS
from tests.cluster.stage import Stage

from ._fault import Fault, copy_of_db, instancetype, named, sized

__all__ = ["FAULTS"]


def _lost_copy(stage: Stage) -> None:
    """The live object is still as it was when the copy was made."""
    of = instancetype(stage)
    sized(stage, of, its.copy_name({"metadata": {"name": "db"}}, of))


def _lost_reference(stage: Stage) -> None:
    """There is no copy any more of what was live then."""
    sized(stage, instancetype(stage), "lost")


FAULTS = (
    Fault(
        "lost_copy",
        "restash_missing_revision",
        "RevisionMissing",
        _lost_copy,
        CONTROLLER_REVISIONS,
        copy_of_db,
        verb="create",
        undone="delete",
        accepts="copy",
        bound="db",
    ),
    Fault(
        "lost_reference",
        "restash_missing_revision",
        "RevisionMissing",
        _lost_reference,
        VMS,
        named("db"),
        undone="never",
    ),
)
