"""Where a story about a VM plays: a namespace of its own, and what people and drains do to a cluster.

What a node or a guest shall do otherwise than well is ordered with `orders`: `stage.orders.holds.add(stage.key("db"))`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.client import ApiError, Client
from tests.cluster.resources import EVENTS, NAMESPACES, NODES, PODS, VMIMS, VMIS, VMS, Resource
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NAMESPACE as KUBEVIRT
from tests.kubevirt.installation import NODES as VM_NODES
from tests.kubevirt.orders import Key, Orders, true
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["Answer", "Stage"]

PATIENCE = 60  # seconds for what takes two
LAUNCHERS = "kubevirt.io=virt-launcher"
# KubeVirt's subresources answer 406 to who accepts JSON alone.
ANYTHING = {"Accept": "application/json, */*"}
# A stop, start or restart that virt-controller has not taken off the VM's status yet (500), a write of the VM between
# virt-api's look at it and its patch (409), a migration that has moved the guest and is not yet over (500).
IN_HAND = ("stop/start already underway", "jsonpatch test operation does not apply", "in-flight migration detected")


@dataclass(frozen=True)
class Answer:
    """What the API server answered to an action: the HTTP code of a refusal and its words; None if it was granted."""

    code: int | None = None
    message: str = ""

    @property
    def in_hand(self) -> bool:
        """Whether KubeVirt refused only because an earlier request is still under way, or something wrote meanwhile."""
        return any(words in self.message for words in IN_HAND)


@dataclass
class Stage:
    """One namespace of a control plane."""

    control_plane: ControlPlane
    namespace: str
    client: Client = field(init=False)
    _actor: Client = field(init=False)
    _cordoned: set[str] = field(default_factory=set)
    _tainted: dict[str, list[Object]] = field(default_factory=dict)  # nodes with the taints that they had

    def __post_init__(self) -> None:
        self.client = self.control_plane.client()
        self._actor = self.control_plane.client(**ANYTHING)

    @property
    def orders(self) -> Orders:
        return self.control_plane.vms.orders

    def key(self, name: str) -> Key:
        return self.namespace, name

    # -- VMs

    def vm(
        self,
        name: str,
        *,
        strategy: str = "Always",
        eviction: str | None = None,
        labels: Mapping[str, str] | None = None,
        vmi_labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        instancetype: Object | None = None,
        preference: Object | None = None,
        **template: Any,
    ) -> Object:
        """Creates one with these strategies for running and evictions; `template` are fields of its VMI's spec.

        `labels` are its own, `vmi_labels` and `annotations` those that its VMIs get.
        It asks for 64 MiB itself, unless an instancetype gives it its memory.
        """
        asks = {} if instancetype else {"resources": {"requests": {"memory": "64Mi"}}}
        spec = {"domain": {"devices": {}, **asks}, **template}
        if eviction is not None:
            spec["evictionStrategy"] = eviction
        of_vmi = {"labels": dict(vmi_labels or {}), "annotations": dict(annotations or {})}
        matchers = {"instancetype": instancetype, "preference": preference}
        return self.client.create(
            {
                "apiVersion": VMS.api_version,
                "kind": "VirtualMachine",
                "metadata": {"namespace": self.namespace, "name": name, "labels": dict(labels or {})},
                "spec": {
                    "runStrategy": strategy,
                    "template": {"metadata": of_vmi, "spec": spec},
                    **{role: matcher for role, matcher in matchers.items() if matcher},
                },
            }
        )

    def running(self, name: str, **how: Any) -> Object:
        """Creates a VM as `vm` does, and waits until it runs and KubeVirt has said whether it can migrate."""
        self.vm(name, **how)
        return self.wait_running(name)

    def wait_running(self, name: str) -> Object:
        def runs() -> Object | None:
            vmi = self.vmi(name)
            return vmi if vmi and vmi.get("status", {}).get("phase") == "Running" and true(vmi, "Ready") else None

        return wait_until(runs, PATIENCE, f"{name} runs")

    def wait_moved(self, name: str, source: str) -> None:
        """Until it runs on another node than this one, and has just the pod there."""

        def moved() -> bool:
            node = (self.vmi(name) or {}).get("status", {}).get("nodeName", source)
            return node != source and [pod["spec"].get("nodeName") for pod in self.live_pods(name)] == [node]

        wait_until(moved, PATIENCE, f"{name} has left {source}")

    def wait_ended(self, vmi: Object) -> None:
        """Until this VMI is gone; its VM may have another one by then."""
        name, uid = vmi["metadata"]["name"], vmi["metadata"]["uid"]

        def ended() -> bool:
            now = self.vmi(name)
            return now is None or now["metadata"]["uid"] != uid

        wait_until(ended, PATIENCE, f"the VMI {uid} of {name} is gone")

    def wait_gone(self, name: str) -> None:
        """Until it has neither a VMI nor a pod."""
        wait_until(lambda: self.vmi(name) is None and not self.pods(name), PATIENCE, f"nothing of {name} runs")

    def act(self, name: str, verb: str, **body: Any) -> Answer:
        """What `virtctl` does to a VM: start, stop, restart, migrate; again, while what was asked before is in hand."""
        last = Answer()

        def answered() -> bool:
            nonlocal last
            last = self._put("virtualmachines", name, verb, body)
            return not last.in_hand

        wait_until(answered, PATIENCE, f"KubeVirt takes the request to {verb} {name}", every=0.2)
        return last

    def refusal(self, name: str) -> str:
        """What KubeVirt says against any change of the VM, asked with a change of nothing; empty if it takes them."""
        path, kind = VMS.path(self.namespace, name), "application/merge-patch+json"
        return _answer(self.client, "PATCH", path, {}, query={"dryRun": "All"}, content_type=kind).message

    def vmi(self, name: str) -> Object | None:
        return self.client.find(VMIS, self.namespace, name)

    def pods(self, name: str) -> list[Object]:
        """The launcher pods of a VM, oldest first."""
        found = self.client.list(PODS, self.namespace, labelSelector=f"{LAUNCHERS},vm.kubevirt.io/name={name}")["items"]
        return sorted(found, key=_created)

    def live_pods(self, name: str) -> list[Object]:
        """Those of them that have not ended."""
        return [each for each in self.pods(name) if each["status"]["phase"] not in ("Succeeded", "Failed")]

    def pod(self, name: str) -> Object:
        """The pod that the guest of a VM is in."""
        vmi = self.client.get(VMIS, self.namespace, name)
        node = vmi["status"]["nodeName"]
        live = [each for each in self.pods(name) if each["status"]["phase"] == "Running"]
        return next(each for each in live if each["spec"]["nodeName"] == node)

    # -- drains

    def evict(self, name: str, *, dry_run: bool = False, by: str = "") -> Answer:
        """Asks for the eviction of the pod that the VM's guest is in, as a drain does; or another one who says so."""
        return self.evict_pod(self.pod(name)["metadata"]["name"], dry_run=dry_run, by=by)

    def evict_pod(self, pod: str, *, dry_run: bool = False, by: str = "") -> Answer:
        meta: Object = {"namespace": self.namespace, "name": pod}
        if by:
            meta["annotations"] = {"requested-by": by}
        eviction: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        query: dict[str, str] = {}
        if dry_run:
            eviction["deleteOptions"] = {"dryRun": ["All"]}
            query["dryRun"] = "All"
        return _answer(self.client, "POST", PODS.path(self.namespace, pod, "eviction"), eviction, query=query)

    def cordon(self, node: str) -> None:
        """Until the end of the test, or `uncordon`."""
        self._cordoned.add(node)
        self.client.patch(NODES, None, node, {"spec": {"unschedulable": True}})

    @contextmanager
    def only_on(self, node: str) -> Iterator[None]:
        """What starts meanwhile starts there."""
        others = [each for each in VM_NODES if each != node]
        for each in others:
            self.cordon(each)
        yield
        for each in others:
            self.uncordon(each)

    def uncordon(self, node: str) -> None:
        self.client.patch(NODES, None, node, {"spec": {"unschedulable": None}})

    def taint(self, node: str, key: str, effect: str = "NoSchedule") -> None:
        """Puts it beside the node's own taints; until the end of the test, or `untaint`."""
        self.untaint(node)
        self._tainted[node] = self.client.get(NODES, None, node)["spec"].get("taints", [])
        taints = [*self._tainted[node], {"key": key, "effect": effect}]
        self.client.patch(NODES, None, node, {"spec": {"taints": taints}})

    def untaint(self, node: str) -> None:
        if node in self._tainted:
            self.client.patch(NODES, None, node, {"spec": {"taints": self._tainted.pop(node)}})

    def wait_ready(self, node: str, *, ready: bool) -> None:
        """Until the control plane knows that a node lives, or that it is dead, which takes a quarter of a minute."""
        what = f"{node} is {'ready' if ready else 'not ready'}"
        wait_until(lambda: true(self.client.get(NODES, None, node), "Ready") == ready, PATIENCE, what)

    def virt_handlers(self, node: str) -> dict[str, bool]:
        """The pods of virt-handler on a node, and whether each is ready."""
        found = self.client.list(PODS, KUBEVIRT, labelSelector="kubevirt.io=virt-handler")["items"]
        return {each["metadata"]["name"]: true(each, "Ready") for each in found if each["spec"].get("nodeName") == node}

    def evacuation(self, name: str) -> str:
        """The node that the VMI is requested to leave; empty without such a request."""
        status: Object = self.client.get(VMIS, self.namespace, name).get("status", {})
        return str(status.get("evacuationNodeName", ""))

    def wait_evacuation(self, name: str, node: str) -> None:
        wait_until(lambda: self.evacuation(name) == node, PATIENCE, f"{name} is requested to leave {node!r}")

    def cancel_evacuation(self, name: str, node: str) -> Answer:
        """Cancels the evacuation request of a VMI, if it is for this node."""
        return self._put("virtualmachineinstances", name, "evacuate/cancel", {"evacuationNodeName": node})

    # -- migrations

    def migrations(self, name: str) -> list[Object]:
        """Those of a VM, oldest first."""
        found = self.client.list(VMIMS, self.namespace)["items"]
        return sorted((each for each in found if each["spec"]["vmiName"] == name), key=_created)

    def phases(self, name: str) -> list[str]:
        """How far the migrations of a VM are, oldest first."""
        return [each.get("status", {}).get("phase", "") for each in self.migrations(name)]

    def wait_phases(self, name: str, *phases: str, seconds: float = PATIENCE) -> None:
        wait_until(lambda: self.phases(name) == list(phases), seconds, f"the migrations of {name} are {phases}")

    def events(self, name: str) -> list[Object]:
        """Those about a VM, its VMI, and whatever else has its name."""
        selector = f"involvedObject.name={name}"
        return list(self.client.list(EVENTS, self.namespace, fieldSelector=selector)["items"])

    def clear(self) -> None:
        """Takes the VMs and the namespace away, and back what was ordered for them."""
        for node in self._cordoned:
            self.uncordon(node)
        for node in list(self._tainted):
            self.untaint(node)
        self.orders.dead.clear()
        self.orders.silent.clear()
        self.orders.forget(self.namespace)
        for vm in self.client.list(VMS, self.namespace)["items"]:
            self.client.delete(VMS, self.namespace, vm["metadata"]["name"], gracePeriodSeconds=0)
        if self.client.find(NAMESPACES, None, self.namespace):
            self.client.delete(NAMESPACES, None, self.namespace)

    def _put(self, plural: str, name: str, verb: str, body: Object) -> Answer:
        resource = Resource("subresources.kubevirt.io", "v1", plural)
        return _answer(self._actor, "PUT", resource.path(self.namespace, name, verb), body)


def _answer(client: Client, method: str, path: str, body: Object, **how: Any) -> Answer:
    try:
        client.connection.request(method, path, body, **how)
    except ApiError as error:
        return Answer(error.code, error.message)
    return Answer()


def _created(obj: Object) -> tuple[str, str]:
    """Those of one second in any order."""
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]
