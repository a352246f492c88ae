"""An IPAMClaim outlives its VM."""

from __future__ import annotations

from tests.cluster.resources import IPAM_CLAIMS

from ._fault import CLAIM, Fault, named, orphan_claim

__all__ = ["FAULTS"]


FAULTS = (
    Fault(
        "orphan_claim",
        "delete_orphan_ipam_claim",
        "OrphanClaim",
        orphan_claim,
        IPAM_CLAIMS,
        named(CLAIM),
        verb="delete",
        undone="created again",
        aged=True,
    ),
)
