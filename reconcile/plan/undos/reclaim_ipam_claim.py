"""An IPAMClaim that was deleted, or released, does not come back with its address."""

from __future__ import annotations

from ..undo import NoUndo

__all__ = ["UNDO"]

UNDO = NoUndo(
    "reclaim_ipam_claim",
    "While the IPAMClaim is terminating its addresses are reserved. Once it is released the network may give them to "
    "another VM or pod; an IPAMClaim that is created again has none, since the API server drops the status of what is "
    "created, and KubeVirt's IPAM controller creates one by itself when the VM has the interface and starts.",
)
