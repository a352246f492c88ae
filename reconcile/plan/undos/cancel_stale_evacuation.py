"""An evacuation request that was cancelled is made by nothing but an eviction."""

from __future__ import annotations

from ..undo import NoUndo

UNDO = NoUndo(
    "cancel_stale_evacuation",
    "Evict the VMI's pod if it has to leave its node after all: where KubeVirt migrates the VMI, it makes the request "
    "anew.",
)
