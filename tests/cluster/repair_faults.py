"""One fault for each repair that an API server is enough for, and where such repairs run.

Nothing but the tests and the sidecar writes there: no KubeVirt, no garbage collector. What KubeVirt's controllers leave
is written by the test.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.fleet import instancetypes as its
from exporter.domain.drains.drain_stop import STOPPED_FOR_DRAIN, DrainStop, text_of
from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED
from reconcile.plan.requests import MANAGER
from tests.cluster import fleet
from tests.cluster.resources import CONTROLLER_REVISIONS, INSTANCETYPES, IPAM_CLAIMS, PDBS, VMS, Resource
from tests.cluster.stage import Stage
from tests.cluster.stories.evictions import NODE_INFO
from tests.manifests import Object

__all__ = ["FAULTS", "KUBEVIRT", "LATER", "Fault", "settings", "stopped_for_drain"]

LATER = 2 * 86_400.0  # seconds by which a sidecar's clock is ahead, where an object has to be of a certain age
KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"namespace": "kubevirt", "name": "kubevirt"},
    "spec": {},
    "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.7.0", "targetKubeVirtVersion": "v1.7.0"},
}
GONE = "11111111-1111-4111-8111-111111111111"
SIZE = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
KIND = "VirtualMachineInstancetype"


@dataclass(frozen=True)
class Fault:
    """What is wrong, and what its repair writes to; `name` is of the object that is written.

    `verb` is that of the write; `undone` says how it is taken back: by a patch, a deletion, or a person who creates the
    object again, or not at all; `accepts` is the word of what is lost by that.
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
    accepts: str = ""

    def __str__(self) -> str:
        return self.id

    def target(self, stage: Stage) -> Object | None:
        return stage.client.find(self.resource, stage.namespace, self.name(stage))


def _gone_vm(stage: Stage) -> Object:
    vm = fleet.vm(stage.namespace, "db", {"blue": "blue"})
    vm["metadata"]["uid"] = GONE
    return vm


def _orphan_claim(stage: Stage) -> None:
    stage.claim(_gone_vm(stage))


def _stuck_claim(stage: Stage) -> None:
    _orphan_claim(stage)
    stage.delete_claim()


def _unprotected_claim(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), finalizers=None)


def _without_uuid(stage: Stage) -> None:
    stage.client.create(fleet.vm(stage.namespace, "db", firmware={}))


def _twins(stage: Stage) -> None:
    same = {"uuid": str(uuid.uuid4())}
    for name in ("db", "twin"):
        stage.client.create(fleet.vm(stage.namespace, name, firmware=same))


def _orphan_pdb(stage: Stage) -> None:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": "db", "uid": GONE}
    meta = {"namespace": stage.namespace, "name": "kubevirt-disruption-budget-x"}
    made = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta | {"ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}]},
        "spec": {"selector": {"matchLabels": {"kubevirt.io/created-by": GONE}}, "minAvailable": 1},
    }
    stage.client.create(made)


def _instancetype(stage: Stage, **annotations: str) -> Object:
    return stage.client.create(its.kept(KIND, stage.namespace, "small", SIZE, annotations=annotations))


def _orphan_revision(stage: Stage) -> None:
    of, vm = _instancetype(stage), stage.client.create(fleet.vm(stage.namespace, "db"))
    stage.client.create(its.copy(vm, of))


def _lost_copy(stage: Stage) -> None:
    """The live object is still as it was when the copy was made."""
    of = _instancetype(stage)
    _sized(stage, of, its.copy_name({"metadata": {"name": "db"}}, of))


def _lost_reference(stage: Stage) -> None:
    """There is no copy any more of what was live then."""
    _sized(stage, _instancetype(stage), "lost")


def _sized(stage: Stage, of: Object, revision: str) -> None:
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["instancetype"] = {"name": of["metadata"]["name"], "kind": KIND}
    reference = {"name": of["metadata"]["name"], "kind": KIND, "controllerRevisionRef": {"name": revision}}
    vm["status"] = {"instancetypeRef": reference}
    stage.client.make(vm)


def _in_use(stage: Stage) -> None:
    of = _instancetype(stage, **{ALLOWED: "true"})
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["instancetype"] = {"name": of["metadata"]["name"], "kind": KIND}
    stage.client.create(vm)


def stopped_for_drain(stage: Stage, strategy: str = "Always") -> None:
    """As `stop_blocked_vmi` and KubeVirt leave a VM, and a node that takes VMs again."""
    stage.client.make(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": stage.namespace, "labels": {"kubevirt.io/schedulable": "true"}},
            "status": {"nodeInfo": dict.fromkeys(NODE_INFO, ""), "conditions": [{"type": "Ready", "status": "True"}]},
        }
    )
    made = fleet.vm(stage.namespace, "db")
    made["spec"]["runStrategy"] = strategy
    off = {"type": "Ready", "status": "False", "reason": "VMINotExists", "lastTransitionTime": "2026-05-04T08:00:00Z"}
    vm = stage.client.make(made | {"status": {"conditions": [off], "created": False}})
    stop = DrainStop(vm["metadata"]["uid"], "i", stage.namespace, strategy, MANAGER)
    change = {"metadata": {"annotations": {STOPPED_FOR_DRAIN: text_of(stop)}}, "spec": {"runStrategy": "Halted"}}
    path, kind = VMS.path(stage.namespace, "db"), "application/merge-patch+json"
    stage.client.connection.request("PATCH", path, change, query={"fieldManager": MANAGER}, content_type=kind)


def _named(name: str) -> Callable[[Stage], str]:
    return lambda _: name


def _lost_name(stage: Stage) -> str:
    return its.copy_name({"metadata": {"name": "db"}}, stage.client.get(INSTANCETYPES, stage.namespace, "small"))


def _fault(
    id_: str, remediation: str, reason: str, seed: Callable[[Stage], None], at: tuple[Resource, Any], **more: Any
) -> Fault:
    resource, name = at
    return Fault(id_, remediation, reason, seed, resource, _named(name) if isinstance(name, str) else name, **more)


_CLAIM, _VM = (IPAM_CLAIMS, "db.blue"), (VMS, "db")
FAULTS = (
    _fault(
        "orphan_claim",
        "delete_orphan_ipam_claim",
        "OrphanClaim",
        _orphan_claim,
        _CLAIM,
        verb="delete",
        undone="created again",
        aged=True,
    ),
    _fault(
        "stuck_claim",
        "release_ipam_claim",
        "StuckTerminatingOwnerGone",
        _stuck_claim,
        _CLAIM,
        undone="never",
        aged=True,
    ),
    _fault("unprotected_claim", "repair_ipam_claim_metadata", "UnprotectedClaim", _unprotected_claim, _CLAIM),
    _fault("without_uuid", "persist_firmware_uuid", "NotPersisted", _without_uuid, _VM),
    _fault("twins", "reassign_firmware_uuid", "LatentDuplicate", _twins, (VMS, "twin"), accepts="uniqueness"),
    _fault(
        "orphan_pdb",
        "delete_orphan_pdb",
        "OrphanPDB",
        _orphan_pdb,
        (PDBS, "kubevirt-disruption-budget-x"),
        verb="delete",
        undone="created again",
        aged=True,
    ),
    _fault(
        "orphan_revision",
        "delete_orphan_revision",
        "OrphanedRevision",
        _orphan_revision,
        (CONTROLLER_REVISIONS, _lost_name),
        verb="delete",
        undone="created again",
        aged=True,
    ),
    _fault(
        "lost_copy",
        "restash_missing_revision",
        "RevisionMissing",
        _lost_copy,
        (CONTROLLER_REVISIONS, _lost_name),
        verb="create",
        undone="delete",
        accepts="copy",
    ),
    _fault("lost_reference", "restash_missing_revision", "RevisionMissing", _lost_reference, _VM, undone="never"),
    _fault("stopped_for_drain", "start_stopped_vm", "StoppedAfterDrain", stopped_for_drain, _VM),
    _fault("in_use", "guard_instancetype", "DeletableInUse", _in_use, (INSTANCETYPES, "small"), settles=False),
)


def settings(modes: Mapping[tuple[str, str], str], **more: Any) -> dict[str, Any]:
    """A sidecar's configuration with a mode for each remediation and namespace, and limits that are in no way."""
    remediations: dict[str, Any] = {}
    for (remediation, namespace), mode in modes.items():
        own = remediations.setdefault(remediation, {"minAge": "0s", "namespaces": {}})
        own["namespaces"][namespace] = mode
    many = {"run": 1000, "hour": 10_000, "namespaceHour": 10_000, "fleetShare": 1.0}
    return {"remediations": remediations, "budgets": many, "storm": {"atLeast": 1000}} | more
