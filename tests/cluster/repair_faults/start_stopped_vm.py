"""A VM that was stopped for a drain is still off."""

from __future__ import annotations

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN, DrainStop, text_of
from reconcile.plan.requests import MANAGER
from tests.cluster import fleet, nodes
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS", "stopped_for_drain"]


def stopped_for_drain(stage: Stage, strategy: str = "Always") -> None:
    """As `stop_blocked_vmi` and KubeVirt leave a VM, and a node that takes VMs again."""
    nodes.node(stage.client, stage.namespace, labels=nodes.SCHEDULABLE)
    made = fleet.vm(stage.namespace, "db")
    made["spec"]["runStrategy"] = strategy
    off = {"type": "Ready", "status": "False", "reason": "VMINotExists", "lastTransitionTime": "2026-05-04T08:00:00Z"}
    vm = stage.client.make(made | {"status": {"conditions": [off], "created": False}})
    stop = DrainStop(vm["metadata"]["uid"], "i", stage.namespace, strategy, MANAGER)
    change = {"metadata": {"annotations": {STOPPED_FOR_DRAIN: text_of(stop)}}, "spec": {"runStrategy": "Halted"}}
    path, kind = VMS.path(stage.namespace, "db"), "application/merge-patch+json"
    stage.client.connection.request("PATCH", path, change, query={"fieldManager": MANAGER}, content_type=kind)


FAULTS = (Fault("stopped_for_drain", "start_stopped_vm", "StoppedAfterDrain", stopped_for_drain, VMS, named("db")),)
