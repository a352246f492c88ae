"""Nodes, running VMs, PDBs and migrations, written to a real API server by the test.

There is no scheduler, kubelet or KubeVirt: what those would say is written too.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.cluster.client import Client
from tests.cluster.resources import NODES
from tests.manifests import Object

__all__ = ["Guest", "join", "kubevirt", "migration", "pdb", "write"]

_NAMESPACE = "default"


def join(client: Client, name: str, memory: str) -> None:
    """Makes a node that takes pods: the API server taints a new one, until its controller sees that it is ready."""
    client.make(_node(name, memory))
    client.patch(NODES, None, name, {"spec": {"taints": None}})


def _node(name: str, memory: str) -> Object:
    room = {"cpu": "16", "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubevirt.io/schedulable": "true"}},
        "spec": {},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def kubevirt() -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"namespace": _NAMESPACE, "name": "kubevirt"},
        "spec": {"configuration": {"migrations": {"parallelOutboundMigrationsPerNode": 3}}},
        "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0", "targetKubeVirtVersion": "v1.9.0"},
    }


@dataclass(frozen=True)
class Guest:
    """A running VMI; one with a `hindrance` can't be migrated."""

    name: str
    node: str = "node01"
    strategy: str = "LiveMigrate"
    memory: str = "1Gi"
    hindrance: str = ""
    evacuation: str | None = None


def write(client: Client, *guests: Guest) -> None:
    """Makes the VMIs and their launcher pods."""
    for guest in guests:
        made = client.make(_vmi(guest))
        client.make(_pod(guest, made["metadata"]["uid"]))


def _vmi(guest: Guest) -> Object:
    able: Object = {"type": "LiveMigratable", "status": "False" if guest.hindrance else "True"}
    status: Object = {
        "phase": "Running",
        "nodeName": guest.node,
        "conditions": [able | ({"reason": guest.hindrance} if guest.hindrance else {})],
    }
    if guest.evacuation:
        status["evacuationNodeName"] = guest.evacuation
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"namespace": _NAMESPACE, "name": guest.name},
        "spec": {"domain": {"devices": {}}, "evictionStrategy": guest.strategy},
        "status": status,
    }


def _pod(guest: Guest, uid: str) -> Object:
    container = {"name": "compute", "image": "none", "resources": {"requests": {"memory": guest.memory, "cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": _NAMESPACE,
            "name": f"virt-launcher-{guest.name}",
            "labels": {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid, "app": guest.name},
            "annotations": {"kubevirt.io/domain": guest.name},
        },
        "spec": {
            "nodeName": guest.node,
            "containers": [container],
            "nodeSelector": {"kubevirt.io/schedulable": "true"},
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def migration(of: str, evacuates: str) -> Object:
    """One that runs."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "namespace": _NAMESPACE,
            "name": f"kubevirt-evacuation-{of}",
            "annotations": {"kubevirt.io/evacuationMigration": evacuates},
        },
        "spec": {"vmiName": of},
        "status": {"phase": "Running"},
    }


def pdb(app: str) -> Object:
    """One that lets none of the pods with the label go, as its controller leaves it."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": _NAMESPACE, "name": app},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": 0,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    }
