"""An IPAMClaim of a VM that lives has lost its finalizer."""

from __future__ import annotations

from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.stage import Stage

from ._fault import CLAIM, Fault, named

__all__ = ["FAULTS"]


def _unprotected_claim(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), finalizers=None)


FAULTS = (
    Fault(
        "unprotected_claim",
        "repair_ipam_claim_metadata",
        "UnprotectedClaim",
        _unprotected_claim,
        IPAM_CLAIMS,
        named(CLAIM),
    ),
)
