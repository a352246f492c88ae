"""VMs that can't leave their node, and what is in the way. The node has the name of the story's namespace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.cluster import fleet, nodes
from tests.cluster.resources import NODES, PDBS, PODS, VMIMS, VMIS, VMS, Resource
from tests.cluster.stage import Stage, Story, nothing
from tests.cluster.stories import acts
from tests.manifests import Object

__all__ = ["STORIES"]

REQUESTED = "2026-05-04T08:00:00Z"
DRAIN = "medik8s.io/drain"
Values = Mapping[str, str]


# -- what there is


def _node(stage: Stage, *, cordoned: bool = True, taint: str = "", since: str = "", **more: Any) -> Object:
    """With `since` it is cordoned since then, by the taint that says so."""
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    if since:
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": since})
    return nodes.node(stage.client, stage.namespace, cordoned=cordoned, taints=tuple(taints), **more)


def _kubevirt(stage: Stage, release: str = "v1.9.0") -> Object:
    return stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"namespace": stage.namespace, "name": "kubevirt"},
            "spec": {},
            "status": {"observedKubeVirtVersion": release, "targetKubeVirtVersion": release},
        }
    )


def _vmi(stage: Stage, strategy: str, migratable: bool = True, evacuation: str = "", **more: Any) -> Object:
    """A running one on the story's node, which it is to leave if `evacuation` says so."""
    conditions = [{"type": "LiveMigratable", "status": "True" if migratable else "False", "reason": "Reported"}]
    if evacuation:
        conditions.append({"type": "EvictionRequested", "status": "True", "lastTransitionTime": REQUESTED})
    status = {"phase": "Running", "nodeName": stage.namespace, "conditions": conditions}
    return stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {"namespace": stage.namespace, "name": "db", **more},
            "spec": {"domain": {"devices": {}}, "evictionStrategy": strategy},
            "status": {**status, "evacuationNodeName": evacuation} if evacuation else status,
        }
    )


def _pod(stage: Stage, uid: str, name: str = "virt-launcher-db", **status: Any) -> Object:
    pod = fleet.launcher_pod(stage.namespace, "db", {})
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid, "app": "db"}
    pod["metadata"] |= {"name": name, "labels": labels}
    pod["spec"]["nodeName"] = stage.namespace
    if "migration" in status:
        labels["kubevirt.io/migrationJobUID"] = status.pop("migration")
        pod["spec"]["nodeName"] = status.pop("target", None)
    if "grace" in status:
        pod["spec"]["terminationGracePeriodSeconds"] = status.pop("grace")
    pod["status"] |= {"conditions": [{"type": "Ready", "status": "True"}]} | status
    return stage.client.make(pod)


def _migration(stage: Stage, name: str, phase: str) -> Object:
    notes = {"kubevirt.io/evacuationMigration": stage.namespace}
    return stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"namespace": stage.namespace, "name": name, "annotations": notes},
            "spec": {"vmiName": "db"},
            "status": {"phase": phase} if phase else {},
        }
    )


def _pdb(stage: Stage, name: str, uid: str = "", **spec: Any) -> Object:
    selector = {"matchLabels": {"kubevirt.io/created-by": uid} if uid else {"app": "db"}}
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": "db", "uid": uid}
    owners = [{**owner, "controller": True, "blockOwnerDeletion": True}] if uid else []
    return stage.client.make(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"namespace": stage.namespace, "name": name, "ownerReferences": owners},
            "spec": {"selector": selector, **spec},
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": 0,
                "currentHealthy": 1,
                "desiredHealthy": 1,
                "expectedPods": 1,
            },
        }
    )


def _values(stage: Stage, obj: Object | None = None, **more: str) -> Values:
    named = {"NODE": stage.namespace, "NAME": "db", "VMNAME": "db", "PDB": "keep", **more}
    return named | ({"UID": obj["metadata"]["uid"], "NAME": obj["metadata"]["name"]} if obj else {})


# -- migrations


def _stuck(*phases: str) -> Callable[[Stage], Values]:
    def seed(stage: Stage) -> Values:
        _node(stage)
        _vmi(stage, "LiveMigrate", evacuation=stage.namespace)
        for number, phase in enumerate(phases):
            _migration(stage, f"kubevirt-evacuation-{number}", phase)
        return _values(stage)

    return seed


def _unended(stage: Stage) -> Values:
    _node(stage)
    vmi = _vmi(stage, "LiveMigrate", evacuation=stage.namespace)
    state = {"migrationUid": "gone", "startTimestamp": REQUESTED, "sourceNode": stage.namespace}
    stage.client.update({**vmi, "status": {**vmi["status"], "migrationState": state}})
    return _values(stage)


def _unschedulable(stage: Stage) -> Values:
    _node(stage)
    vmi = _vmi(stage, "LiveMigrate", evacuation=stage.namespace)
    migration = _migration(stage, "kubevirt-evacuation-0", "Scheduling")
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    uid = migration["metadata"]["uid"]
    _pod(stage, vmi["metadata"]["uid"], "virt-launcher-db-b", migration=uid, phase="Pending", conditions=[refused])
    return _values(stage)


def _not_starting(stage: Stage) -> Values:
    """The image of its target pod is not there."""
    _node(stage)
    vmi = _vmi(stage, "LiveMigrate", evacuation=stage.namespace)
    migration = _migration(stage, "kubevirt-evacuation-0", "Scheduling")
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": REQUESTED}
    waits = {"name": "compute", "ready": False, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    waits |= {"image": "none", "imageID": "", "restartCount": 0}
    uid, status = migration["metadata"]["uid"], {"phase": "Pending", "conditions": [placed]}
    target = f"{stage.namespace}-target"
    of, status["target"] = vmi["metadata"]["uid"], target
    _pod(stage, of, "virt-launcher-db-b", migration=uid, containerStatuses=[waits], **status)
    return _values(stage, TARGETPOD="virt-launcher-db-b", TARGETNODE=target)


def _hanging(stage: Stage) -> Values:
    """Nobody prepares the target of its migration."""
    _node(stage)
    vmi = _vmi(stage, "LiveMigrate", evacuation=stage.namespace)
    migration = _migration(stage, "kubevirt-evacuation-0", "PreparingTarget")
    reached = [{"phase": "PreparingTarget", "phaseTransitionTimestamp": REQUESTED}]
    stage.client.update({**migration, "status": {**migration["status"], "phaseTransitionTimestamps": reached}})
    target = f"{stage.namespace}-target"
    state = {"migrationUid": migration["metadata"]["uid"], "sourceNode": stage.namespace, "targetNode": target}
    stage.client.update({**vmi, "status": {**vmi["status"], "migrationState": state}})
    return _values(stage, TARGETNODE=target)


def _not_migratable(stage: Stage) -> Values:
    _node(stage, taint=DRAIN)
    return _values(stage, _vmi(stage, "LiveMigrate", migratable=False))


def _not_migratable_while_cordoned(stage: Stage) -> Values:
    _node(stage, since=REQUESTED)
    return _values(stage, _vmi(stage, "LiveMigrate", migratable=False))


def _not_migratable_any_more(stage: Stage) -> Values:
    _node(stage)
    return _values(stage, _vmi(stage, "LiveMigrate", migratable=False, evacuation=stage.namespace))


def _external(stage: Stage) -> Values:
    _node(stage)
    return _values(stage, _vmi(stage, "External", evacuation=stage.namespace))


# -- evacuation requests


def _stale(stage: Stage) -> Values:
    _node(stage, cordoned=False)
    return _values(stage, _vmi(stage, "LiveMigrate", evacuation=f"{stage.namespace}-gone"))


def _given_up(stage: Stage) -> Values:
    _node(stage, cordoned=False)
    return _values(stage, _vmi(stage, "LiveMigrate", evacuation=stage.namespace))


def _unmanaged(stage: Stage) -> Values:
    _node(stage)
    return _values(stage, _vmi(stage, "None", evacuation=stage.namespace))


def _migrates(stage: Stage, _: Values) -> bool:
    made = stage.client.list(VMIMS, stage.namespace)["items"]
    return [each["spec"]["vmiName"] for each in made if each["metadata"]["name"].startswith("by-hand-")] == ["db"]


# -- PDBs, taints, pods


def _refused(*, migratable: bool) -> Callable[[Stage], Values]:
    def seed(stage: Stage) -> Values:
        _node(stage, taint=DRAIN)
        _pod(stage, _vmi(stage, "None", migratable)["metadata"]["uid"])
        _pdb(stage, "keep", minAvailable=1)
        return _values(stage, PDB="keep")

    return seed


def _refused_while_cordoned(stage: Stage) -> Values:
    _node(stage, since=REQUESTED)
    _pod(stage, _vmi(stage, "None")["metadata"]["uid"])
    _pdb(stage, "keep", minAvailable=1)
    return _values(stage, PDB="keep")


def _several(stage: Stage) -> Values:
    _node(stage, taint=DRAIN)
    _pod(stage, _vmi(stage, "None", migratable=False)["metadata"]["uid"])
    _pdb(stage, "keep", minAvailable=1)
    other = _pdb(stage, "other", minAvailable=1)
    return {**_values(stage), "PDB": "other", "UID": other["metadata"]["uid"]}


def _tainted(stage: Stage) -> Values:
    _node(stage, cordoned=False, taint="kubevirt.io/drain")
    return _values(stage, _vmi(stage, "External"))


def _terminating(stage: Stage) -> Values:
    _node(stage)
    vmi = _vmi(stage, "None", finalizers=["kubevirt.io/foregroundDeleteVirtualMachine"])
    stage.client.delete(VMIS, stage.namespace, "db")
    return _values(stage, vmi)


def _orphan_pod(stage: Stage) -> Values:
    _node(stage)
    return _values(stage, _pod(stage, "gone", grace=0))  # no kubelet ends it


def _left_pdb(stage: Stage) -> Values:
    _kubevirt(stage)
    vmi = _vmi(stage, "LiveMigrate")
    return _values(stage, _pdb(stage, "kubevirt-disruption-budget-x", vmi["metadata"]["uid"], minAvailable=1))


def _orphan_pdb(stage: Stage) -> Values:
    _kubevirt(stage)
    _pod(stage, "gone")
    return _values(stage, _pdb(stage, "kubevirt-disruption-budget-x", "gone", minAvailable=1))


def _stopped_after_drain(stage: Stage) -> Values:
    """As the sidecar leaves it, for whoever set the run strategy here."""
    _node(stage, cordoned=False, labels=nodes.SCHEDULABLE)
    stage.client.make(fleet.vm(stage.namespace, "db"))
    vm = stage.client.patch(VMS, stage.namespace, "db", {"spec": {"runStrategy": "Halted"}})
    writes = vm["metadata"]["managedFields"]
    by = next(each["manager"] for each in writes if "f:runStrategy" in each["fieldsV1"].get("f:spec", {}))
    stop = {"vm": vm["metadata"]["uid"], "vmi": "i", "node": stage.namespace, "runStrategy": "Once", "by": by}
    notes = {"steward.kubevirt-steward.io/stopped-for-drain": json.dumps(stop)}
    stage.client.patch(VMS, stage.namespace, "db", {"metadata": {"annotations": notes}})
    return {**_values(stage), "RUNSTRATEGY": "Once"}


def _lost(stage: Stage) -> Values:
    _node(stage, cordoned=False, silent=REQUESTED)
    return {**_values(stage, _vmi(stage, "LiveMigrate")), "NAME": stage.namespace}


def _unheard(stage: Stage) -> Values:
    _node(stage, cordoned=False, labels={"kubevirt.io/schedulable": "false"})
    vmi = _vmi(stage, "LiveMigrate")
    _pod(stage, vmi["metadata"]["uid"])
    return {**_values(stage, vmi), "NAME": stage.namespace}


def _pod_missing(stage: Stage) -> Values:
    _node(stage, cordoned=False, labels=nodes.SCHEDULABLE)
    return _values(stage, _vmi(stage, "LiveMigrate"))


def _pod_not_starting(stage: Stage) -> Values:
    _node(stage, cordoned=False, labels=nodes.SCHEDULABLE)
    vmi = _vmi(stage, "LiveMigrate")
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": REQUESTED}
    return _values(stage, _pod(stage, vmi["metadata"]["uid"], phase="Pending", conditions=[placed]))


def _pod_not_ending(stage: Stage) -> Values:
    """No kubelet ends it."""
    _node(stage, cordoned=False, labels=nodes.SCHEDULABLE)
    vmi = _vmi(stage, "LiveMigrate")
    pod = _pod(stage, vmi["metadata"]["uid"], grace=1)
    stage.client.delete(PODS, stage.namespace, pod["metadata"]["name"])
    return _values(stage, pod)


def _io_error(stage: Stage) -> Values:
    _node(stage, cordoned=False, labels=nodes.SCHEDULABLE)
    vmi = _vmi(stage, "LiveMigrate")
    _pod(stage, vmi["metadata"]["uid"])
    paused = {"type": "Paused", "status": "True", "reason": "PausedIOError", "lastTransitionTime": REQUESTED}
    status = {"conditions": [*vmi["status"]["conditions"], paused]}
    stage.client.patch(VMIS, stage.namespace, "db", {"status": status})
    return _values(stage, vmi)


def _starts_failing(stage: Stage) -> Values:
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["runStrategy"] = "Always"
    failure = {"consecutiveFailCount": 4, "retryAfterTimestamp": REQUESTED}
    return _values(stage, stage.client.make({**vm, "status": {**vm.get("status", {}), "startFailure": failure}}))


def _unavailable(stage: Stage) -> Values:
    made = _kubevirt(stage)
    waits = {"type": "Available", "status": "False", "reason": "DeploymentInProgress", "lastTransitionTime": REQUESTED}
    stage.client.update_status({**made, "status": {**made["status"], "conditions": [waits]}})
    return {**_values(stage), "NAME": made["metadata"]["name"]}


def _closed(stage: Stage) -> Values:
    _kubevirt(stage)
    made = _node(stage, labels=nodes.SCHEDULABLE)
    return {**_values(stage), "NAME": made["metadata"]["name"]}


def _webhook_down(stage: Stage) -> Values:
    _kubevirt(stage)
    stage.client.make(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "addressType": "IPv4",
            "metadata": {
                "namespace": stage.namespace,
                "name": "virt-api-x",
                "labels": {"kubernetes.io/service-name": "virt-api"},
            },
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}],
        }
    )
    return _values(stage)


def _same_uuid(stage: Stage) -> Values:
    uuid = "4c4c4544-0038-4b10-8053-b7c04f4b4e32"
    _node(stage, cordoned=False, systemUUID=uuid)
    nodes.node(stage.client, f"{stage.namespace}-other", systemUUID=uuid)
    return _values(stage)


def _there(resource: Resource, name: str) -> Callable[[Stage, Values], bool]:
    return lambda stage, _: stage.client.find(resource, stage.namespace, name) is not None


def _schedulable(stage: Stage, _: Values) -> bool:
    return not stage.client.get(NODES, None, stage.namespace)["spec"].get("unschedulable")


STUCK = "VMEvictionMigrationStuck"
STORIES = [
    Story(STUCK, "MigrationFailing", _stuck("Failed", "Failed", "Pending"), leaves=nothing),
    Story(STUCK, "TargetUnschedulable", _unschedulable, leaves=nothing),
    Story(STUCK, "TargetNotStarting", _not_starting, leaves=nothing),
    Story(STUCK, "MigrationPending", _stuck(""), leaves=nothing),
    Story(STUCK, "MigrationHanging", _hanging, leaves=nothing),
    Story(STUCK, "MigrationOverdue", _stuck("Pending"), leaves=nothing),
    Story(STUCK, "NotStarted", _stuck(), leaves=nothing),
    Story(STUCK, "NotStarted", _unended, (acts.MIGRATE,), leaves=_migrates),
    Story("VMEvictionNotMigratable", "NotMigratable", _not_migratable, (acts.DELETE,)),
    Story(
        "VMEvictionNotMigratable",
        "NotMigratableWhileCordoned",
        _not_migratable_while_cordoned,
        (acts.UNCORDON,),
        leaves=_schedulable,
    ),
    Story("VMEvictionNotMigratable", "NotMigratableAfterRequest", _not_migratable_any_more, (acts.DELETE,)),
    Story("VMEvictionNotMigratable", "ExternalAwaiting", _external, leaves=nothing),
    Story("VMEvacuationRequestLeft", "StaleEvacuationRequest", _stale, (acts.MIGRATE,), leaves=_migrates),
    Story("VMEvacuationRequestLeft", "RequestOnSchedulableNode", _given_up, leaves=nothing),
    Story("VMEvacuationRequestLeft", "RequestWithUnmanagedStrategy", _unmanaged, leaves=nothing),
    Story("VMEvictionPDBBlocks", "UserPDB", _refused(migratable=True), (acts.MIGRATE,), leaves=_migrates),
    Story("VMEvictionPDBBlocks", "UserPDB", _refused(migratable=False), leaves=nothing),
    Story("VMEvictionPDBBlocks", "PDBWhileCordoned", _refused_while_cordoned, leaves=nothing),
    Story("VMEvictionPDBBlocks", "MultiplePDB", _several, (acts.DELETE_PDB,), leaves=_there(PDBS, "keep")),
    Story("VMEvictionNotMigratable", "LegacyTaintIgnored", _tainted, (acts.UNTAINT,)),
    Story("VMEvictionTerminatingStuck", "StuckTerminating", _terminating, leaves=nothing),
    Story("VMEvictionTerminatingStuck", "OrphanLauncherPod", _orphan_pod, (acts.DELETE,)),
    Story("KubeVirtNodeLost", "NodeLost", _lost, leaves=nothing),
    Story("KubeVirtNodeUnheard", "NodeUnheard", _unheard, leaves=nothing),
    Story("VMLauncherPodStuck", "PodMissing", _pod_missing, leaves=nothing),
    Story("VMLauncherPodStuck", "PodNotStarting", _pod_not_starting, leaves=nothing),
    Story("VMLauncherPodStuck", "PodNotEnding", _pod_not_ending, leaves=nothing),
    Story("VMPausedByIOError", "PausedByIOError", _io_error, leaves=nothing),
    Story("VMStartsFailing", "StartsFailing", _starts_failing, leaves=nothing),
    Story("KubeVirtUnavailable", "KubeVirtUnavailable", _unavailable, leaves=nothing),
    Story("KubeVirtNoNodeTakesVMs", "NoNodeTakesVMs", _closed, leaves=nothing),
    Story("KubeVirtNodeDrainStalled", "NodeDrainStalled", _not_migratable, (acts.UNCORDON,), leaves=_schedulable),
    Story("VMStoppedAfterDrain", "StoppedAfterDrain", _stopped_after_drain, (acts.FORGET_STOP,)),
    Story("VMStoppedAfterDrain", "StoppedAfterDrain", _stopped_after_drain, (acts.PUT_BACK_STRATEGY,)),
    Story("VMEvictionPDBBlocks", "OrphanPDB", _orphan_pdb, (acts.DELETE_LEFT_PDB,)),
    Story("VMEvictionPDBBlocks", "LegacyPDBPresent", _left_pdb, (acts.DELETE_LEFT_PDB,)),
    Story("KubeVirtEvictionWebhookDown", "WebhookDown", _webhook_down, leaves=nothing),
    Story("KubeVirtNodeSystemUUIDDuplicate", "DuplicateSystemUUID", _same_uuid, leaves=nothing),
]
