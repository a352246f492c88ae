"""An IPAMClaim that was deleted is no longer the same one when a person creates it again."""

from __future__ import annotations

from ..undo import NoUndo

UNDO = NoUndo(
    "delete_orphan_ipam_claim",
    "While the IPAMClaim is terminating its addresses are reserved and its name is taken. Created again it has no "
    "address, since the API server drops the status of what is created; and while no VM has the UID that its owner "
    "reference names, garbage collection deletes it once more.",
)
