"""What released an IPAMClaim can't be taken back. The annotation that was tried before can."""

from __future__ import annotations

from exporter.store.kinds import virtual_machine

from ._nudged import annotation_only

UNDO = annotation_only(
    "release_ipam_claim",
    virtual_machine.KIND,
    "KubeVirt's IPAM controller reconciles it once more, and may then release its IPAMClaims, as it does with any VM "
    "in deletion.",
)
