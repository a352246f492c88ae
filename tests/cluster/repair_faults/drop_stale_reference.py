"""The instancetype of a VM was taken out of its spec, as KubeVirt has noted, and its status has the reference still."""

from __future__ import annotations

from demo.fleet import instancetypes as its
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, copy_of_db, instancetype, named, sized

__all__ = ["FAULTS", "noted"]


def noted(stage: Stage) -> None:
    """As virt-controller does of a VM that runs, for each generation that it sees."""
    vm = stage.client.get(VMS, stage.namespace, "db")
    status = vm["status"] | {"desiredGeneration": vm["metadata"]["generation"]}
    stage.client.update_status(vm | {"status": status})


def _without_matcher(stage: Stage) -> None:
    of = instancetype(stage)
    sized(stage, of, copy_of_db(stage))
    stage.client.create(its.copy(stage.client.get(VMS, stage.namespace, "db"), of))
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"instancetype": None}})
    noted(stage)


FAULTS = (
    Fault("stale_reference", "drop_stale_reference", "StaleReference", _without_matcher, VMS, named("db"), aged=True),
)
