"""A VM depends on an instancetype without a copy of it."""

from __future__ import annotations

from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED
from tests.cluster import fleet
from tests.cluster.resources import INSTANCETYPES
from tests.cluster.stage import Stage

from ._fault import KIND, Fault, instancetype, named

__all__ = ["FAULTS"]


def _in_use(stage: Stage) -> None:
    of = instancetype(stage, **{ALLOWED: "true"})
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["instancetype"] = {"name": of["metadata"]["name"], "kind": KIND}
    stage.client.create(vm)


FAULTS = (
    Fault("in_use", "guard_instancetype", "DeletableInUse", _in_use, INSTANCETYPES, named("small"), settles=False),
)
