"""A PDB of KubeVirt that a person creates again has an owner that is gone."""

from __future__ import annotations

from ..undo import NoUndo

UNDO = NoUndo(
    "delete_orphan_pdb",
    "Created again it protects nothing either; and with an owner reference to a VMI that is gone, garbage collection "
    "deletes it once more.",
)
