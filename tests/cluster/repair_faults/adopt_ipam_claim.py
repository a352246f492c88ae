"""A VM was created again, and has the IPAMClaim of its predecessor."""

from __future__ import annotations

from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.stage import Stage

from ._fault import CLAIM, Fault, named, orphan_claim

__all__ = ["FAULTS"]


def _earlier_claim(stage: Stage) -> None:
    stage.nad()
    stage.vm()
    orphan_claim(stage)


FAULTS = (
    Fault(
        "earlier_claim", "adopt_ipam_claim", "OwnerUidMismatch", _earlier_claim, IPAM_CLAIMS, named(CLAIM), aged=True
    ),
)
