"""A VM's spec names a copy without labels, which KubeVirt would delete."""

from __future__ import annotations

from demo.fleet import instancetypes as its
from tests.cluster import fleet
from tests.cluster.resources import CONTROLLER_REVISIONS
from tests.cluster.stage import Stage

from ._fault import Fault, instancetype, named

__all__ = ["FAULTS"]


def _labelless(stage: Stage) -> None:
    of = instancetype(stage)
    vm = its.refer(fleet.vm(stage.namespace, "db"), "instancetype", of)
    vm["spec"]["instancetype"]["revisionName"] = "kept"
    stage.client.create(its.copy(stage.client.create(vm), of, name="kept", labels={}))


FAULTS = (
    Fault(
        "labelless",
        "label_pinned_revision",
        "LabellessPin",
        _labelless,
        CONTROLLER_REVISIONS,
        named("kept"),
        accepts="copy",
    ),
)
