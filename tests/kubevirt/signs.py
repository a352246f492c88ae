"""The signs of life of nodes: what their kubelets and virt-handlers report while nothing is wrong.

Kubernetes' own controller of nodes goes by them. It takes a new node's taint off once the node is Ready, and calls one
that goes silent Unknown.
"""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime

from tests.cluster.client import Client
from tests.cluster.resources import LEASES, NODES
from tests.kubevirt.orders import condition, now, true
from tests.manifests import Object
from tests.tools.build import TOOLS

__all__ = ["Signs"]

BEATS = 2.0  # seconds between two of a node
LEASES_OF_NODES = "kube-node-lease"
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "500", "ephemeral-storage": "1Ti"}
DEVICES = {f"devices.kubevirt.io/{name}": "1k" for name in ("kvm", "tun", "vhost-net")}
SCHEDULABLE = "kubevirt.io/schedulable"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
KUBELET = f"v{TOOLS['kube-apiserver'].chosen}"


class Signs:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._given: dict[str, float] = {}

    def give(self, node: Object, *, handled: bool = True) -> None:
        """The leases and heartbeats of a kubelet and, where virt-handler is (`handled`), of that, and the status."""
        name = node["metadata"]["name"]
        if not true(node, "Ready"):
            self._client.patch(NODES, None, f"{name}/status", {"status": _well(name)})
        if time.monotonic() - self._given.get(name, -BEATS) < BEATS:
            return
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": moment}
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": "Lease",
            "metadata": {"namespace": LEASES_OF_NODES, "name": name},
            "spec": spec,
        }
        self._client.apply(lease, manager="kubelet")
        # Where virt-handler is, it undoes what its silence did.
        if handled and SCHEDULABLE in node["metadata"].get("labels", {}):
            meta = {"annotations": {"kubevirt.io/heartbeat": now()}, "labels": {SCHEDULABLE: "true"}}
            self._client.patch(NODES, None, name, {"metadata": meta})
        self._given[name] = time.monotonic()


def _well(name: str) -> Object:
    """The status of a node that lacks nothing."""
    rows = [condition(each, "False", reason=f"KubeletHasNo{each}") for each in PRESSURES]
    rows.append(condition("Ready", reason="KubeletReady"))
    room = {**ROOM, **DEVICES}
    own = {"systemUUID": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), "kubeletVersion": KUBELET}
    return {
        "capacity": room,
        "allocatable": room,
        "conditions": [row | {"lastHeartbeatTime": now()} for row in rows],
        "addresses": [{"type": "Hostname", "address": name}],
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", **own},
    }
