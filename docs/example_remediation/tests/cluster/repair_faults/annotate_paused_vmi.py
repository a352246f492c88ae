"""A VMI is paused."""

from __future__ import annotations

from demo.fleet.objects import condition
from tests.cluster import fleet
from tests.cluster.resources import VMIS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS"]


def _paused(stage: Stage) -> None:
    vmi = fleet.vmi(stage.vm())
    vmi["status"]["conditions"] = [condition("Paused", True)]
    stage.client.make(vmi)


FAULTS = (Fault("paused_vmi", "annotate_paused_vmi", "Paused", _paused, VMIS, named("db"), settles=False),)
