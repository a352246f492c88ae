"""VMs whose migrations go wrong, though nobody has asked them to leave. The node has the name of the namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.cluster import fleet, nodes
from tests.cluster.stage import Stage, Story, nothing
from tests.manifests import Object

__all__ = ["STORIES"]

LONG_AGO = "2026-05-04T08:00:00Z"
Values = Mapping[str, str]


def _closed_node(stage: Stage) -> None:
    nodes.node(stage.client, stage.namespace, cordoned=True)


def _vmi(stage: Stage, **status: Any) -> Object:
    conditions = [{"type": "LiveMigratable", "status": "True"}]
    return stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {"namespace": stage.namespace, "name": "db"},
            "spec": {"domain": {"devices": {}}, "evictionStrategy": "LiveMigrate"},
            "status": {"phase": "Running", "nodeName": stage.namespace, "conditions": conditions, **status},
        }
    )


def _migration(stage: Stage, name: str, phase: str) -> Object:
    reached = [{"phase": phase, "phaseTransitionTimestamp": LONG_AGO}] if phase else []
    return stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"namespace": stage.namespace, "name": name},
            "spec": {"vmiName": "db"},
            "status": {"phase": phase, "phaseTransitionTimestamps": reached} if phase else {},
        }
    )


def _pod(stage: Stage, name: str, vmi: Object, migration: str = "", node: str = "", **status: Any) -> Object:
    pod = fleet.launcher_pod(stage.namespace, "db", {})
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": vmi["metadata"]["uid"]}
    pod["metadata"] |= {
        "name": name,
        "labels": labels | ({"kubevirt.io/migrationJobUID": migration} if migration else {}),
    }
    pod["spec"] = {**pod["spec"], "nodeName": node or None}
    pod["status"] |= {"conditions": [{"type": "Ready", "status": "True"}]} | status
    return stage.client.make(pod)


def _values(stage: Stage, **more: str) -> Values:
    return {"NODE": stage.namespace, "NAME": "db", "VMNAME": "db", **more}


def _stuck(*phases: str) -> Callable[[Stage], Values]:
    def seed(stage: Stage) -> Values:
        _closed_node(stage)
        _vmi(stage)
        for number, phase in enumerate(phases):
            _migration(stage, f"by-hand-{number}", phase)
        return _values(stage)

    return seed


def _unschedulable(stage: Stage) -> Values:
    _closed_node(stage)
    vmi, uid = _vmi(stage), _migration(stage, "by-hand", "Scheduling")["metadata"]["uid"]
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    _pod(stage, "virt-launcher-db-b", vmi, uid, phase="Pending", conditions=[refused])
    return _values(stage)


def _not_starting(stage: Stage) -> Values:
    _closed_node(stage)
    target = f"{stage.namespace}-target"
    vmi, uid = _vmi(stage), _migration(stage, "by-hand", "Scheduling")["metadata"]["uid"]
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": LONG_AGO}
    waits = {"name": "compute", "ready": False, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    waits |= {"image": "none", "imageID": "", "restartCount": 0}
    status = {"phase": "Pending", "conditions": [placed], "containerStatuses": [waits]}
    _pod(stage, "virt-launcher-db-b", vmi, uid, target, **status)
    return _values(stage, TARGETPOD="virt-launcher-db-b", TARGETNODE=target)


def _hanging(stage: Stage) -> Values:
    """Nobody prepares the target of its migration."""
    _closed_node(stage)
    target, migration = f"{stage.namespace}-target", _migration(stage, "by-hand", "PreparingTarget")
    state = {"migrationUid": migration["metadata"]["uid"], "sourceNode": stage.namespace, "targetNode": target}
    _vmi(stage, migrationState=state)
    return _values(stage, TARGETNODE=target)


def _doubled(stage: Stage) -> Values:
    _closed_node(stage)
    migration, source = _migration(stage, "by-hand", "Succeeded"), f"{stage.namespace}-source"
    uid = migration["metadata"]["uid"]
    state = {"migrationUid": uid, "startTimestamp": LONG_AGO, "endTimestamp": LONG_AGO, "completed": True}
    vmi = _vmi(stage, migrationState=state | {"sourceNode": source, "targetNode": stage.namespace})
    _pod(stage, "virt-launcher-db-a", vmi, node=source, phase="Running")
    _pod(stage, "virt-launcher-db-b", vmi, uid, stage.namespace, phase="Running")
    return _values(stage)


STUCK = "VMMigrationStuck"
STORIES = [
    Story(STUCK, "MigrationFailing", _stuck("Failed", "Failed"), leaves=nothing),
    Story(STUCK, "TargetUnschedulable", _unschedulable, leaves=nothing),
    Story(STUCK, "TargetNotStarting", _not_starting, leaves=nothing),
    Story(STUCK, "MigrationPending", _stuck(""), leaves=nothing),
    Story(STUCK, "MigrationHanging", _hanging, leaves=nothing),
    Story(STUCK, "MigrationOverdue", _stuck("Pending"), leaves=nothing),
    Story("VMSourcePodLeft", "SourcePodLeft", _doubled, leaves=nothing),
]
