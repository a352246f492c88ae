"""What KubeVirt writes into the status of a VM and of its VMI, from the start to the end."""

from __future__ import annotations

from tests.kubevirt.orders import condition, now
from tests.manifests import Object

__all__ = ["ended", "migrated", "runs", "starting", "stopped", "vm_runs"]


def stopped() -> Object:
    """Of a VM without a VMI."""
    return _vm("Stopped", condition("Ready", "False", reason="VMINotExists"))


def starting() -> Object:
    """Of a VM whose guest does not run yet."""
    return _vm("Starting", condition("Ready", "False", reason="GuestNotRunning"))


def vm_runs() -> Object:
    return _vm("Running", condition("Ready"), condition("LiveMigratable"))


def _vm(printed: str, *rows: Object) -> Object:
    there = {"created": printed != "Stopped", "ready": printed == "Running"}
    return {**there, "printableStatus": printed, "runStrategy": "Manual", "conditions": list(rows)}


def runs(pod: Object) -> Object:
    """Of a VMI whose guest runs in this pod."""
    node = pod["spec"]["nodeName"]
    return {
        "phase": "Running",
        "nodeName": node,
        "activePods": {pod["metadata"]["uid"]: node},
        "conditions": [condition("Ready"), condition("LiveMigratable")],
        "migrationMethod": "LiveMigration",
    }


def migrated(migration: Object, source: Object, target: Object) -> Object:
    """Of a VMI whose guest has gone from one pod to another."""
    moment, meta = now(), target["metadata"]
    return runs(target) | {
        "migrationState": {
            "migrationUid": migration["metadata"]["uid"],
            "sourceNode": source["spec"]["nodeName"],
            "sourcePod": source["metadata"]["name"],
            "targetNode": target["spec"]["nodeName"],
            "targetPod": meta["name"],
            "mode": "PreCopy",
            "startTimestamp": meta["creationTimestamp"],
            "endTimestamp": moment,
            "targetNodeDomainDetected": True,
            "targetNodeDomainReadyTimestamp": moment,
            "completed": True,
        }
    }


def ended() -> Object:
    """Of a VMI whose guest was shut down."""
    return {"phase": "Succeeded", "conditions": [condition("Ready", "False", reason="PodTerminating")]}
