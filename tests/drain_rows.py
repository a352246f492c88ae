"""Rows of a cluster whose nodes are drained, and the view over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from exporter.checks import all_checks
from exporter.engine.evaluate import at_once
from exporter.questions import drain
from exporter.questions.drain.report import Drain, NodeReport, VMReport
from tests.evaluation import Evaluation
from tests.rows import full

__all__ = ["SCHEDULABLE", "Drained", "guest", "migration", "node", "pdb", "slices", "volume"]

SCHEDULABLE = {"kubevirt.io/schedulable": "true"}
Row = dict[str, Any]


class Drained(Evaluation):
    """With what the app puts beside the engine. By default node01, which is cordoned, and node02, which has room."""

    def __init__(self, *rows: Row, nodes: Iterable[Row] | None = None, kubevirt: Row | None = None) -> None:
        super().__init__(all_checks(), indexes=drain.INDEXES)
        for row in [node("node01", cordoned=True), node("node02")] if nodes is None else nodes:
            self.seen(full(row))
        self.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"} | (kubevirt or {})))
        for row in rows:
            self.seen(row if "apiVersion" in row else full(row))

    def take(self, *nodes: str) -> Drain:
        self.evaluate()
        engine = self.engine
        return at_once(drain.steps(engine.cluster, nodes or ("node01",), engine.findings(), engine.generation))

    def node(self) -> NodeReport:
        (report,) = self.take().nodes
        return report

    def one(self) -> VMReport:
        """The only VM of node01."""
        (report,) = self.node().vms
        return report

    def reported(self) -> tuple[str, str]:
        vm = self.one()
        return str(vm.state), str(vm.reason)


def node(name: str, **more: Any) -> Row:
    labels = SCHEDULABLE | more.pop("labels", {})
    return {"kind": "Node", "name": name, "labels": labels} | more


def guest(name: str, pod: Row | None = None, **more: Any) -> list[Row]:
    """A running VMI with its launcher pod; it migrates unless `more` says otherwise. `pod` goes over the pod's."""
    vmi: Row = {"kind": "VirtualMachineInstance", "name": name, "uid": f"u-{name}"}
    vmi |= {"vm": f"vm-{name}"} if more.pop("owned", "set" not in more) else {}
    vmi |= {"strategy": "LiveMigrate", "migratable": True, "networks": {}} | more
    own: Row = {"kind": "Pod", "name": f"virt-launcher-{name}", "domain": name, "vmi": f"u-{name}"}
    own |= {"node": more.get("node", "node01"), "namespace": more.get("namespace", "ns"), "labels": {"app": name}}
    return [vmi, own | {"requests": {"memory": "1Gi", "cpu": "1"}} | (pod or {})]


def migration(name: str, vmi: str, phase: str, minute: int = 0, **more: Any) -> Row:
    """An evacuation of node01, made at a minute after the request of `LEAVING`."""
    created = f"2026-06-01T10:{minute:02}:00Z"
    row = {"kind": "VirtualMachineInstanceMigration", "name": name, "vmi": vmi, "phase": phase, "created": created}
    return row | {"evacuates": "node01", "uid": f"uid-{name}"} | more


def pdb(name: str, selects: str, **more: Any) -> Row:
    return {"kind": "PodDisruptionBudget", "name": name, "selects": {"app": selects}} | more


def volume(pvc: str, on: str = "", namespace: str = "ns") -> Row:
    """The PersistentVolume that a PersistentVolumeClaim is bound to; `on` is the only node that it can be used from."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}} if on else None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{pvc}", "uid": f"pv-{pvc}", "resourceVersion": "7"},
        "spec": {"claimRef": {"namespace": namespace, "name": pvc}, "nodeAffinity": affinity},
    }


def slices(*ready: bool) -> Row:
    """The EndpointSlice of virt-api, with an endpoint for each."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": "kubevirt",
            "name": "virt-api-x",
            "uid": "s",
            "labels": {"kubernetes.io/service-name": "virt-api"},
        },
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": each}} for each in ready],
    }
