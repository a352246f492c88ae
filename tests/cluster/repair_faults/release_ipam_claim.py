"""An IPAMClaim whose VM is gone keeps terminating."""

from __future__ import annotations

from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.stage import Stage

from ._fault import CLAIM, Fault, named, orphan_claim

__all__ = ["FAULTS"]


def _stuck_claim(stage: Stage) -> None:
    orphan_claim(stage)
    stage.delete_claim()


FAULTS = (
    Fault(
        "stuck_claim",
        "release_ipam_claim",
        "StuckTerminatingOwnerGone",
        _stuck_claim,
        IPAM_CLAIMS,
        named(CLAIM),
        undone="never",
        aged=True,
    ),
)
