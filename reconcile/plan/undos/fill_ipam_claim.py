"""Without the annotation the pod keeps its reference, and the IPAMClaim its address."""

from __future__ import annotations

from exporter.store.kinds import pod

from ._nudged import annotation_only

__all__ = ["UNDO"]

UNDO = annotation_only("fill_ipam_claim", pod.KIND, "Its reference and the addresses in the IPAMClaim stay.")
