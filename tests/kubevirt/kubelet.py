"""Stands in for the scheduler and for the kubelets of all nodes: pods come up, and end, though nothing runs in them.

A launcher pod ends as KubeVirt's launcher does: when its guest has ended, or has left for another node.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tests.cluster.client import Client
from tests.cluster.resources import PODS
from tests.kubevirt.orders import World, condition, launched, true
from tests.kubevirt.pod_states import completed, pulling, running
from tests.kubevirt.scheduler import TARGET, place, refusal
from tests.kubevirt.signs import Signs
from tests.manifests import Object

__all__ = ["Kubelet"]

FINAL = ("Succeeded", "Failed")


class Kubelet:
    """`addresses` are those of pods with a label `kubevirt.io`; others get one that nobody listens on."""

    def __init__(self, client: Client, addresses: Mapping[str, str]) -> None:
        self._client = client
        self._addresses = addresses
        self._numbers = itertools.count(256)
        self._signs = Signs(client)

    def steps(self, world: World) -> Iterator[Callable[[], None]]:
        """What there is to do, or to look into; each can be done or fail on its own."""
        for name, node in world.alive.items():
            yield partial(self._signs.give, node, handled=name in world.handled)
        for pod in world.pods:
            yield partial(self._step, pod, world)

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
            self._report(pod, completed(pod))
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
            self._report(pod, {"phase": "Pending", "conditions": [*rows, row]})

    def _wait_for_image(self, pod: Object) -> None:
        if not pod["status"].get("containerStatuses"):
            self._report(pod, pulling(pod, "compute"))

    def _run(self, pod: Object, *, ready: bool) -> None:
        self._report(pod, running(pod, self._address(pod), ready=ready))

    def _address(self, pod: Object) -> str:
        given = pod.get("status", {}).get("podIP") or self._addresses.get(
            pod["metadata"].get("labels", {}).get("kubevirt.io", "")
        )
        if given:
            return str(given)
        high, low = divmod(next(self._numbers), 256)
        return f"10.244.{high % 255}.{low}"

    def _report(self, pod: Object, status: Object) -> None:
        self._client.patch(PODS, pod["metadata"]["namespace"], f"{pod['metadata']['name']}/status", {"status": status})

    def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        only = {"uid": meta["uid"]}
        self._client.delete(PODS, meta["namespace"], meta["name"], gracePeriodSeconds=0, preconditions=only)


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
