"""The pod of a VM has an address, and its IPAMClaim has none."""

from __future__ import annotations

from tests.cluster.resources import PODS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS"]


def _empty_claim(stage: Stage) -> None:
    stage.nad()
    vm = stage.vm()
    stage.claim(vm, None)
    stage.running(vm)
    stage.pod()


FAULTS = (
    Fault(
        "empty_claim",
        "fill_ipam_claim",
        "EmptyClaim",
        _empty_claim,
        PODS,
        named("virt-launcher-db"),
        settles=False,
        aged=True,
    ),
)
