"""A ControllerRevision that a person creates again is found by its name, if its owner is there."""

from __future__ import annotations

from ..undo import NoUndo

UNDO = NoUndo(
    "delete_orphan_revision",
    "Created again it serves whoever refers to it, by its name alone; but where no VM has the UID that its owner "
    "reference names, garbage collection deletes it once more: take the owner reference out first.",
)
