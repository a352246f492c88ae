"""What is wrong where a repair is tried, and what the faults share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.fleet import instancetypes as its
from tests.cluster import fleet
from tests.cluster.resources import INSTANCETYPES, Resource
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.rows import full

__all__ = [
    "CLAIM",
    "GONE",
    "KIND",
    "KUBEVIRT",
    "LATER",
    "SIZE",
    "Fault",
    "cloned",
    "copy_of_db",
    "instancetype",
    "named",
    "orphan_claim",
    "settings",
    "sized",
]

LATER = 2 * 86_400.0  # seconds by which a sidecar's clock is ahead, where an object has to be of a certain age
KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"namespace": "kubevirt", "name": "kubevirt"},
    "spec": {},
    "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.7.1", "targetKubeVirtVersion": "v1.7.1"},
}
GONE = "11111111-1111-4111-8111-111111111111"
SIZE = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
KIND = "VirtualMachineInstancetype"
CLAIM = "db.blue"


@dataclass(frozen=True)
class Fault:
    """What is wrong, and what its repair writes to; `name` is of the object that is written.

    `verb` is that of the write; `undone` says how it is taken back: by a patch, a deletion, or a person who creates the
    object again, or not at all; `accepts` is the word of what is lost by that. `bound` is the VM that bears the
    approval and the Event, where it is not the object that is written. With `leads_on` another repair follows from this
    one, by a finding of its own.
    """

    id: str
    remediation: str
    reason: str
    seed: Callable[[Stage], None]
    resource: Resource
    name: Callable[[Stage], str]
    verb: str = "patch"
    undone: str = "patch"
    settles: bool = True
    aged: bool = False
    leads_on: bool = False
    accepts: str = ""
    bound: str = ""

    def __str__(self) -> str:
        return self.id

    def target(self, stage: Stage) -> Object | None:
        return stage.client.find(self.resource, stage.namespace, self.name(stage))


def named(name: str) -> Callable[[Stage], str]:
    return lambda _: name


def _gone_vm(stage: Stage) -> Object:
    vm = fleet.vm(stage.namespace, "db", {"blue": "blue"})
    vm["metadata"]["uid"] = GONE
    return vm


def orphan_claim(stage: Stage) -> None:
    stage.claim(_gone_vm(stage))


def cloned(stage: Stage, source: str, target: str) -> None:
    """A VirtualMachineClone that has made a VM of another one."""
    made = full(
        {"kind": "VirtualMachineClone", "namespace": stage.namespace, "name": f"of-{source}"}
        | {"source": source, "target": target, "phase": "Succeeded"}
    )
    for field in ("uid", "creationTimestamp"):
        made["metadata"].pop(field, None)
    stage.client.make(made)


def instancetype(stage: Stage, **annotations: str) -> Object:
    return stage.client.create(its.kept(KIND, stage.namespace, "small", SIZE, annotations=annotations))


def sized(stage: Stage, of: Object, revision: str) -> None:
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["instancetype"] = {"name": of["metadata"]["name"], "kind": KIND}
    reference = {"name": of["metadata"]["name"], "kind": KIND, "controllerRevisionRef": {"name": revision}}
    vm["status"] = {"instancetypeRef": reference}
    stage.client.make(vm)


def copy_of_db(stage: Stage) -> str:
    return its.copy_name({"metadata": {"name": "db"}}, stage.client.get(INSTANCETYPES, stage.namespace, "small"))


def settings(modes: Mapping[tuple[str, str], str], **more: Any) -> dict[str, Any]:
    """A sidecar's configuration with a mode for each remediation and namespace, and limits that are in no way."""
    remediations: dict[str, Any] = {}
    for (remediation, namespace), mode in modes.items():
        own = remediations.setdefault(remediation, {"minAge": "0s", "namespaces": {}})
        own["namespaces"][namespace] = mode
    many = {"run": 1000, "hour": 10_000, "namespaceHour": 10_000, "fleetShare": 1.0}
    return {"remediations": remediations, "budgets": many, "storm": {"atLeast": 1000}} | more
