"""KubeVirt has made no copy of a VM's instancetype."""

from __future__ import annotations

from demo.fleet import instancetypes as its
from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, instancetype, named

__all__ = ["FAULTS"]


def _unversioned(stage: Stage) -> None:
    stage.client.create(its.refer(fleet.vm(stage.namespace, "db"), "instancetype", instancetype(stage)))


FAULTS = (
    Fault(
        "unversioned", "nudge_unversioned_vm", "Unversioned", _unversioned, VMS, named("db"), settles=False, aged=True
    ),
)
