"""An IPAMClaim that was deleted, or released, does not come back with its address."""

from __future__ import annotations

from ..undo import NoUndo

UNDO = NoUndo(
    "reclaim_ipam_claim",
    "What was released can't be taken back: the network may give the addresses to another VM or pod. While the "
    "IPAMClaim is terminating they are reserved. An IPAMClaim that is created again has none, since the API server "
    "drops the status of what is created, and KubeVirt's IPAM controller creates one by itself when the VM has the "
    "interface and starts.",
)
