"""Without the annotation the VMI is as before, and the IPAMClaim stays."""

from __future__ import annotations

from exporter.store.kinds import virtual_machine_instance

from ._nudged import annotation_only

UNDO = annotation_only(
    "recreate_ipam_claim", virtual_machine_instance.KIND, "The IPAMClaim stays, if it was created meanwhile."
)
