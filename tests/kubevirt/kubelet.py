"""Stands in for the scheduler and for the kubelets of all nodes: pods come up, and end, though nothing runs in them.

A launcher pod ends as KubeVirt's launcher does: when its guest has ended, or has left for another node.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

from tests.cluster.client import Client
from tests.cluster.resources import LEASES, NODES, PODS, Resource
from tests.kubevirt.orders import World, condition, launched, now, true
from tests.kubevirt.scheduler import TARGET, place, refusal
from tests.manifests import Object

__all__ = ["Kubelet"]

BEATS = 2.0  # seconds between signs of life of a node
LEASES_OF_NODES = "kube-node-lease"
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "500", "ephemeral-storage": "1Ti"}
DEVICES = {f"devices.kubevirt.io/{name}": "1k" for name in ("kvm", "tun", "vhost-net")}
CONDITIONS = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
SCHEDULABLE = "kubevirt.io/schedulable"
FINAL = ("Succeeded", "Failed")


class Kubelet:
    """`addresses` are those of pods with a label `kubevirt.io`; others get one that nobody listens on."""

    def __init__(self, client: Client, addresses: Mapping[str, str]) -> None:
        self._client = client
        self._addresses = addresses
        self._numbers = itertools.count(256)
        self._beats: dict[str, float] = {}

    def steps(self, world: World) -> Iterator[Callable[[], None]]:
        """What there is to do, or to look into; each can be done or fail on its own."""
        for name, node in world.alive.items():
            yield partial(self._beat, name, node, handled=name in world.handled)
        for pod in world.pods:
            yield partial(self._step, pod, world)

    def _beat(self, name: str, node: Object, *, handled: bool) -> None:
        """The leases and heartbeats of a kubelet and of virt-handler, and the status."""
        if not true(node, "Ready"):
            ready = condition("Ready", reason="KubeletReady") | {"lastHeartbeatTime": now()}
            room = {**ROOM, **DEVICES}
            self._patch_status(NODES, node, {"capacity": room, "allocatable": room, "conditions": [ready]})
        if time.monotonic() - self._beats.get(name, -BEATS) < BEATS:
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
        self._beats[name] = time.monotonic()

    def _step(self, pod: Object, world: World) -> None:
        """The one thing that is to be done with a pod now, if any."""
        node, phase = pod["spec"].get("nodeName"), pod.get("status", {}).get("phase")
        deleting = "deletionTimestamp" in pod["metadata"]
        if node is None:
            if deleting:
                self._delete(pod)
            else:
                self._schedule(pod, world)
        elif node not in world.alive:
            return
        elif deleting:
            if phase in FINAL or not _has_guest(pod, world):
                self._delete(pod)
        elif phase == "Pending" and _lacks_its_image(pod, world):
            self._wait_for_image(pod)
        elif phase == "Pending":
            self._run(pod, ready=_gets_ready(pod, world))
        elif phase == "Running" and _guest_is_over(pod, world):
            self._end(pod)
        elif phase == "Running" and true(pod, "Ready") != _gets_ready(pod, world):  # or its node was away
            self._run(pod, ready=_gets_ready(pod, world))

    def _schedule(self, pod: Object, world: World) -> None:
        node = place(pod, world)
        if node is not None:
            meta = {"namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"]}
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
            path = PODS.path(meta["namespace"], meta["name"], "binding")
            self._client.connection.request("POST", path, binding)
            return
        rows = pod.get("status", {}).get("conditions", [])
        if all(row["type"] != "PodScheduled" for row in rows):
            row = condition("PodScheduled", "False", reason="Unschedulable", message=refusal(pod, world))
            self._patch_status(PODS, pod, {"phase": "Pending", "conditions": [*rows, row]})

    def _wait_for_image(self, pod: Object) -> None:
        if pod["status"].get("containerStatuses"):
            return
        image = next(each["image"] for each in pod["spec"]["containers"] if each["name"] == "compute")
        waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
        row = _container({"name": "compute", "image": image}) | {"ready": False, "state": {"waiting": waiting}}
        self._patch_status(PODS, pod, {"containerStatuses": [row | {"imageID": "", "containerID": None}]})

    def _run(self, pod: Object, *, ready: bool) -> None:
        spec = pod["spec"]
        address = self._address(pod)
        init = [
            _container(each, ended=each.get("restartPolicy") != "Always") for each in spec.get("initContainers", ())
        ]
        status = {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": "10.0.0.1",
            "startTime": now(),
            "conditions": [condition(each, "True" if ready or "Ready" not in each else "False") for each in CONDITIONS],
            "initContainerStatuses": init,
            "containerStatuses": [
                _container(each) | {"ready": ready or each["name"] == "compute"} for each in spec["containers"]
            ],
        }
        self._patch_status(PODS, pod, status)

    def _address(self, pod: Object) -> str:
        given = pod.get("status", {}).get("podIP") or self._addresses.get(
            pod["metadata"].get("labels", {}).get("kubevirt.io", "")
        )
        if given:
            return str(given)
        high, low = divmod(next(self._numbers), 256)
        return f"10.244.{high % 255}.{low}"

    def _end(self, pod: Object) -> None:
        rows = [condition(each, "False" if "Ready" in each else "True") for each in CONDITIONS]
        ended = {
            f"{each}Statuses": [_container(one, ended=True) for one in pod["spec"].get(f"{each}s", ())]
            for each in ("initContainer", "container")
        }
        self._patch_status(PODS, pod, {"phase": "Succeeded", "conditions": rows, **ended})

    def _patch_status(self, resource: Resource, obj: Object, status: Object) -> None:
        meta = obj["metadata"]
        path = resource.path(meta.get("namespace"), meta["name"], "status")
        kind = "application/merge-patch+json"
        self._client.connection.request("PATCH", path, {"status": status}, content_type=kind)

    def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        only = {"uid": meta["uid"]}
        self._client.delete(PODS, meta["namespace"], meta["name"], gracePeriodSeconds=0, preconditions=only)


def _container(container: Object, *, ended: bool = False) -> Object:
    image = container["image"].partition("@")[0]
    digest = hashlib.sha256(image.encode()).hexdigest()
    state = {"terminated": {"exitCode": 0, "reason": "Completed"}} if ended else {"running": {"startedAt": now()}}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"{image.rpartition(':')[0]}@sha256:{digest}",
        "containerID": f"none://{digest}",
        "ready": not ended,
        "started": not ended,
        "restartCount": 0,
        "state": state,
    }


def _lacks_its_image(pod: Object, world: World) -> bool:
    return TARGET in pod["metadata"].get("labels", {}) and launched(pod) in world.orders.unpulled


def _gets_ready(pod: Object, world: World) -> bool:
    labels, orders = pod["metadata"].get("labels", {}), world.orders
    if labels.get("kubevirt.io") == "virt-handler":
        return pod["spec"]["nodeName"] not in orders.silent
    return TARGET not in labels or launched(pod) not in orders.unready


def _has_guest(pod: Object, world: World) -> bool:
    """Whether the guest is here and runs: its launcher then waits for it to end."""
    status: Object = (world.vmi_of(pod) or {}).get("status", {})
    return bool(status.get("phase") == "Running" and status.get("nodeName") == pod["spec"]["nodeName"])


def _guest_is_over(pod: Object, world: World) -> bool:
    if "kubevirt.io/created-by" not in pod["metadata"].get("labels", {}):
        return False
    status = (world.vmi_of(pod) or {}).get("status")
    if status is None or status.get("phase") in FINAL:
        return True
    migration = status.get("migrationState") or {}
    name = pod["metadata"]["name"]
    stays = launched(pod) in world.orders.lingers
    left = migration.get("completed") and not migration.get("failed") and name == migration.get("sourcePod")
    left = left and not stays
    never_came = migration.get("failed") and name == migration.get("targetPod")
    return bool(left or never_came)
