"""The IPAMClaim of a VM that runs was deleted, and nobody creates it again."""

from __future__ import annotations

from tests.cluster.resources import VMIS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS"]


def _missing_claim(stage: Stage) -> None:
    stage.nad()
    stage.running(stage.vm())
    stage.pod()


FAULTS = (
    Fault(
        "missing_claim",
        "recreate_ipam_claim",
        "MissingClaim",
        _missing_claim,
        VMIS,
        named("db"),
        settles=False,
        aged=True,
    ),
)
