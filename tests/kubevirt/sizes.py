"""Instancetypes and preferences on a stage: the objects, the revisions that KubeVirt makes of them, and snapshots."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.resources import CONTROLLER_REVISIONS, VM_POOLS, VMS, Resource
from tests.kubevirt.releases import POOLS_BETA
from tests.kubevirt.stage import PATIENCE, Stage
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["CLUSTER_INSTANCETYPE", "INSTANCETYPE", "KINDS", "POOLS", "PREFERENCE", "Sizes", "sized"]

GROUP, VERSION = "instancetype.kubevirt.io", "v1beta1"
SNAPSHOT_API = "snapshot.kubevirt.io/v1beta1"
INSTANCETYPE, CLUSTER_INSTANCETYPE = "VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"
PREFERENCE, CLUSTER_PREFERENCE = "VirtualMachinePreference", "VirtualMachineClusterPreference"
KINDS = {
    kind: Resource(GROUP, VERSION, f"{kind.lower()}s")
    for kind in (INSTANCETYPE, CLUSTER_INSTANCETYPE, PREFERENCE, CLUSTER_PREFERENCE)
}
POOLS = VM_POOLS if POOLS_BETA.here else VM_POOLS._replace(version="v1alpha1")
RESTORES = Resource("snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores")
SNAPSHOTS = Resource("snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots")


@dataclass
class Sizes:
    """What VMs of one stage are made after. Cluster-wide objects get the stage's name before their own."""

    stage: Stage
    ends: ExitStack = field(default_factory=ExitStack)

    def named(self, name: str, kind: str) -> str:
        return f"{self.stage.namespace}-{name}" if "Cluster" in kind else name

    def small(self, name: str = "small", kind: str = CLUSTER_INSTANCETYPE, cpus: int = 1) -> Object:
        """Creates an instancetype; answers with the matcher of a VM that shall have it."""
        return self.make(name, kind, {"cpu": {"guest": cpus}, "memory": {"guest": "64Mi"}})

    def prefer(self, name: str, kind: str = CLUSTER_PREFERENCE) -> Object:
        """Creates a preference; answers with the matcher of a VM that shall have it."""
        return self.make(name, kind, {"devices": {"preferredInterfaceModel": "virtio"}})

    def make(self, name: str, kind: str, spec: Object) -> Object:
        """Creates an instancetype or a preference. The matcher names no kind where that is a cluster-wide one."""
        cluster = "Cluster" in kind
        own = {"name": self.named(name, kind)}
        meta = own if cluster else {**own, "namespace": self.stage.namespace}
        self.stage.client.create({"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": meta, "spec": spec})
        if cluster:
            self.ends.callback(self.stage.client.remove, KINDS[kind], None, own["name"])
        return own if cluster else {**own, "kind": kind}

    def delete(self, matcher: Object, kind: str = CLUSTER_INSTANCETYPE) -> None:
        namespace = None if "Cluster" in kind else self.stage.namespace
        self.stage.client.delete(KINDS[kind], namespace, matcher["name"])

    # -- revisions

    def vm(self, name: str) -> Object:
        return self.stage.client.get(VMS, self.stage.namespace, name)

    def ref(self, name: str, role: str = "instancetype") -> str | None:
        """The revision that the status of a VM refers to; None also while there is no such VM."""
        status: Object = (self.stage.client.find(VMS, self.stage.namespace, name) or {}).get("status", {})
        revision = (status.get(f"{role}Ref") or {}).get("controllerRevisionRef") or {}
        return revision.get("name")

    def wait_ref(self, name: str, role: str = "instancetype", *, other: str | None = None) -> str:
        """Until KubeVirt has made a revision for a VM, another one than `other`."""

        def made() -> str | None:
            now = self.ref(name, role)
            return now if now != other else None

        return wait_until(made, PATIENCE, f"{name} has a revision of its {role}")

    def pin(self, name: str, revision: str, role: str = "instancetype") -> None:
        self.stage.client.patch(VMS, self.stage.namespace, name, {"spec": {role: {"revisionName": revision}}})

    def revision(self, name: str) -> Object | None:
        return self.stage.client.find(CONTROLLER_REVISIONS, self.stage.namespace, name)

    def bare(self, name: str, vm: str, model: str) -> None:
        """A revision of the VM with the content of another one, but without the labels that KubeVirt gives it."""
        own = self.vm(vm)
        owner = {"kind": "VirtualMachine", "name": vm, "uid": own["metadata"]["uid"], "controller": True}
        meta = {"namespace": self.stage.namespace, "name": name}
        owned = {**meta, "ownerReferences": [{"apiVersion": VMS.api_version, **owner}]}
        self.stage.client.create({**self._copied(model), "metadata": owned})

    def first_shape(self, name: str, vm: str, spec: Object) -> None:
        """A revision of the VM as KubeVirt 0.56 and 0.57 made them: the spec alone, in base64, and no labels."""
        own = self.vm(vm)
        owner = {"kind": "VirtualMachine", "name": vm, "uid": own["metadata"]["uid"], "controller": True}
        meta = {"namespace": self.stage.namespace, "name": name}
        self.stage.client.create(
            {
                "apiVersion": CONTROLLER_REVISIONS.api_version,
                "kind": "ControllerRevision",
                "metadata": {**meta, "ownerReferences": [{"apiVersion": VMS.api_version, **owner}]},
                "revision": 0,
                "data": {
                    "apiVersion": f"{GROUP}/v1alpha1",
                    "spec": base64.b64encode(json.dumps(spec).encode()).decode(),
                },
            }
        )

    def refer(self, name: str, matcher: Object, revision: str) -> None:
        """Has the status of a VM name a revision of its instancetype."""
        ref = {"name": matcher["name"], "controllerRevisionRef": {"name": revision}}
        path, kind = VMS.path(self.stage.namespace, name, "status"), "application/merge-patch+json"
        patch = {"status": {"instancetypeRef": ref}}
        self.stage.client.connection.request("PATCH", path, patch, content_type=kind)

    def ownerless(self, model: str) -> str:
        """A copy that nothing needs."""
        copy = self._copied(model)
        meta = {"namespace": self.stage.namespace, "name": "ownerless", "labels": copy["metadata"]["labels"]}
        self.stage.client.create({**copy, "metadata": meta})
        return "ownerless"

    def _copied(self, revision: str) -> Object:
        return self.stage.client.get(CONTROLLER_REVISIONS, self.stage.namespace, revision)

    def lose(self, revision: str) -> None:
        self.stage.client.delete(CONTROLLER_REVISIONS, self.stage.namespace, revision)

    def forget(self, name: str, role: str = "instancetype") -> None:
        """Takes the revision off the status of a VM, as a person does by hand; its VM's object alone would keep it."""
        vm, ref = self.vm(name), f"/status/{role}Ref"
        made = f"{ref}/controllerRevisionRef"
        patch: tuple[Object, ...] = (
            {"op": "test", "path": f"{ref}/name", "value": vm["spec"][role]["name"]},
            {"op": "test", "path": f"{made}/name", "value": self.ref(name, role)},
            {"op": "remove", "path": made},
        )
        path, kind = VMS.path(self.stage.namespace, name, "status"), "application/json-patch+json"
        self.stage.client.connection.request("PATCH", path, patch, content_type=kind)

    def failure(self, name: str) -> tuple[str, str] | None:
        """Reason and message of a VM's condition Failure."""
        status: Object = (self.stage.client.find(VMS, self.stage.namespace, name) or {}).get("status", {})
        rows = status.get("conditions", [])
        return next(
            ((row["reason"], row["message"]) for row in rows if (row["type"], row["status"]) == ("Failure", "True")),
            None,
        )

    def wait_failure(self, name: str, reason: str, message: str | None = None) -> None:
        """Until this is why KubeVirt fails with a VM. While the reason stays, so does the message of the first time."""

        def now_says() -> tuple[str, str] | None:
            now = self.failure(name)
            return (now[0], now[1] if message is not None else "") if now else None

        wanted = (reason, message or "")
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: now_says() == wanted, PATIENCE, f"{name} fails")
        assert now_says() == wanted

    # -- what is made of VMs, and makes them

    def snapshot(self, vm: str, name: str) -> None:
        self._make_and_wait("VirtualMachineSnapshot", name, {"source": _a_vm(vm)}, SNAPSHOTS, _ready)

    def restore(self, snapshot: str, vm: str) -> None:
        spec = {"target": _a_vm(vm), "virtualMachineSnapshotName": snapshot}
        self._make_and_wait("VirtualMachineRestore", f"{snapshot}-to-{vm}", spec, RESTORES, _complete)

    def _make_and_wait(
        self, kind: str, name: str, spec: Object, resource: Resource, done: Callable[[Object], bool]
    ) -> None:
        meta = {"namespace": self.stage.namespace, "name": name}
        self.stage.client.create({"apiVersion": SNAPSHOT_API, "kind": kind, "metadata": meta, "spec": spec})
        wait_until(
            lambda: done(self.stage.client.get(resource, self.stage.namespace, name)), PATIENCE, f"{name} is done"
        )

    def pool(self, name: str, replicas: int, **matchers: Any) -> None:
        labels = {"app": name}
        vm = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}, **matchers}
        self.stage.client.create(
            {
                "apiVersion": POOLS.api_version,
                "kind": "VirtualMachinePool",
                "metadata": {"namespace": self.stage.namespace, "name": name},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "virtualMachineTemplate": {"metadata": {"labels": labels}, "spec": vm},
                },
            }
        )

    def scale(self, pool: str, replicas: int) -> None:
        self.stage.client.patch(POOLS, self.stage.namespace, pool, {"spec": {"replicas": replicas}})


@contextmanager
def sized(stage: Stage) -> Iterator[Sizes]:
    sizes = Sizes(stage)
    with sizes.ends:
        yield sizes


def _a_vm(name: str) -> Object:
    return {"apiGroup": VMS.group, "kind": "VirtualMachine", "name": name}


def _ready(snapshot: Object) -> bool:
    return bool(snapshot.get("status", {}).get("readyToUse"))


def _complete(restore: Object) -> bool:
    return bool(restore.get("status", {}).get("complete"))
