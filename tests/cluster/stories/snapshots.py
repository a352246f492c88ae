"""Snapshots and restores that lock a VM and make no progress. Nothing goes on with them here: virt-controller does."""

from __future__ import annotations

from typing import Any

from tests.cluster import fleet
from tests.cluster.stage import Stage, Story

__all__ = ["STORIES"]

_LONG_AGO = "2026-03-10T06:30:00Z"


def _saved(stage: Stage, kind: str, locked: str, spec: dict[str, Any], why: str) -> None:
    vm = fleet.vm(stage.namespace, "db")
    stage.client.make(vm | {"status": {locked: "s1"}})
    stalled = {"type": "Progressing", "status": "False", "reason": why, "lastTransitionTime": _LONG_AGO}
    stage.client.make(
        {
            "apiVersion": "snapshot.kubevirt.io/v1beta1",
            "kind": kind,
            "metadata": {"namespace": stage.namespace, "name": "s1"},
            "spec": spec,
            "status": {"conditions": [stalled]},
        }
    )


def _overdue(stage: Stage) -> None:
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "db"}
    spec = {"source": source, "failureDeadline": "1s"}
    _saved(stage, "VirtualMachineSnapshot", "snapshotInProgress", spec, "Source not locked")


def _refused(stage: Stage) -> None:
    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "db"}
    spec = {"target": target, "virtualMachineSnapshotName": "of-db"}
    why = "admission webhook denied the request: failed to allocate requested mac address"
    _saved(stage, "VirtualMachineRestore", "restoreInProgress", spec, why)


STORIES = [
    Story("VMSnapshotStuck", "SnapshotOverdue", _overdue, ("kubectl delete virtualmachinesnapshots",)),
    Story("VMSnapshotStuck", "RestoreStuck", _refused, ("kubectl delete virtualmachinerestores",)),
]
