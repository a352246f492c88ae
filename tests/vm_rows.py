"""The parts of rows that tell of a VM's firmware, its evictions, and the nodes that it may run on."""

from __future__ import annotations

from typing import Any

__all__ = ["BUILDERS", "launcher", "vm", "vmi"]


def _condition(type_: str, status: str, since: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": since, **more}


def _domain(row: dict[str, Any]) -> dict[str, Any]:
    """`uuid` and `serial`, or a whole `firmware`; `tpm` and `efi` for state that is kept; `terminate`, `cpu`."""
    firmware = {key: row[key] for key in ("uuid", "serial") if key in row} | row.get("firmware", {})
    if row.get("efi"):
        firmware["bootloader"] = {"efi": {"persistent": True}}
    return {
        "firmware": firmware or None,
        "devices": {"tpm": {"persistent": True}} if row.get("tpm") else {},
        "rebootPolicy": "Terminate" if row.get("terminate") else None,
        "cpu": {"model": row["cpu"]} if "cpu" in row else None,
    }


def vm(row: dict[str, Any]) -> dict[str, Any]:
    """What a VirtualMachine's row adds to its `metadata`, `spec`, template (`domain`, `strategy`) and `status`."""
    meta: dict[str, Any] = {"labels": dict(row.get("labels", {})), "annotations": dict(row.get("annotations", {}))}
    if row.get("origin") == "restore":
        meta["annotations"]["restore.kubevirt.io/lastRestoreUID"] = "r1"
    if row.get("origin") == "backup":
        meta["labels"]["velero.io/restore-name"] = "r1"
    if row.get("origin") == "manifest":
        applied = f'{{"firmware":{{"uuid":"{row["uuid"]}"}}}}'
        meta["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = applied
    if "pool" in row:
        owner = {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "name": row["pool"]}
        meta["ownerReferences"] = [{**owner, "uid": f"uid-{row['pool']}", "controller": True}]
    conditions = [_condition("Failure", "True", reason=row["failure"])] if "failure" in row else []
    return {
        "metadata": meta,
        "spec": {"runStrategy": row.get("runStrategy")},
        "template": {
            "domain": _domain(row),
            "evictionStrategy": row.get("strategy"),
            "priorityClassName": row.get("priorityClass"),
        },
        "status": {"conditions": conditions, "printableStatus": row.get("status")},
    }


def vmi(row: dict[str, Any]) -> dict[str, Any]:
    """What a VMI's row adds. `migratable` is true, false, or the reason why it is not; left out, not evaluated.

    `marked` is the time since when it is to leave the node `evacuation`; `migration` is status.migrationState.
    """
    meta: dict[str, Any] = {"labels": dict(row.get("labels", {})), "annotations": {}}
    if row.get("descheduled"):
        meta["annotations"]["kubevirt.io/eviction-source"] = "descheduler"
    if row.get("outdated"):
        meta["labels"]["kubevirt.io/outdatedLauncherImage"] = ""
    conditions = []
    if "migratable" in row:
        able = row["migratable"]
        reason = able if isinstance(able, str) else None if able else "DisksNotLiveMigratable"
        conditions.append(_condition("LiveMigratable", "True" if able is True else "False", reason=reason))
    if "evacuation_since" in row:
        conditions.append(_condition("EvictionRequested", "True", row["evacuation_since"], reason="EvictionRequested"))
    if row.get("paused"):
        conditions.append(_condition("Paused", "True"))
    return {
        "metadata": meta,
        "spec": {
            "domain": _domain(row),
            "evictionStrategy": row.get("strategy"),
            "terminationGracePeriodSeconds": row.get("termination"),
        },
        "status": {
            "nodeName": row.get("node", "node01"),
            "evacuationNodeName": row.get("evacuation"),
            "conditions": conditions,
            "migrationState": row.get("migration"),
        },
    }


def launcher(row: dict[str, Any]) -> dict[str, Any]:
    """What a pod's row adds: who made it, and what the scheduler says of it.

    `vmi` is the uid of a launcher's VMI, `hotplug` the launcher that a volume's pod belongs to, `migration` the
    uid of the migration that it is the target of; `by` is a controller's kind.
    """
    labels, notes, owners = dict(row.get("labels", {})), {}, []
    if "vmi" in row:
        labels["kubevirt.io/created-by"] = row["vmi"]
    if "migration" in row:
        labels["kubevirt.io/migrationJobUID"] = row["migration"]
    if "hotplug" in row:
        labels["kubevirt.io"] = "hotplug-disk"
        owners.append({"apiVersion": "v1", "kind": "Pod", "name": row["hotplug"], "uid": "p", "controller": True})
    if "by" in row:
        owners.append({"apiVersion": "apps/v1", "kind": row["by"], "name": "set", "uid": "s", "controller": True})
    if row.get("mirror"):
        notes["kubernetes.io/config.mirror"] = "x"
    conditions = [_condition("Ready", "True" if row.get("ready", True) else "False")]
    if "unschedulable" in row:
        conditions.append(_condition("PodScheduled", "False", reason="Unschedulable", message=row["unschedulable"]))
    return {
        "metadata": {"labels": labels, "annotations": notes, "ownerReferences": owners},
        "spec": {"containers": [{"resources": {"requests": row.get("requests", {})}}], **row.get("placement", {})},
        "status": {"conditions": conditions},
    }


def _node(row: dict[str, Any]) -> dict[str, Any]:
    """`taints` are texts such as `kubevirt.io/drain:NoSchedule`."""
    taints = [{"key": text.partition(":")[0], "effect": text.partition(":")[2]} for text in row.get("taints", ())]
    if row.get("cordoned"):
        since = row["cordoned"] if isinstance(row["cordoned"], str) else None
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": since})
    return {
        "metadata": {"labels": {"kubernetes.io/hostname": row["name"], **row.get("labels", {})}},
        "spec": {"unschedulable": bool(row.get("cordoned")), "taints": taints},
        "status": {
            "allocatable": row.get("allocatable", {"cpu": "16", "memory": "64Gi", "pods": "110"}),
            "conditions": [_condition("Ready", "True" if row.get("ready", True) else "False")],
            "nodeInfo": {"systemUUID": row.get("systemUUID", "")},
        },
    }


def _pdb(row: dict[str, Any]) -> dict[str, Any]:
    """`owner` is the VMI that controls it, by `name/uid`; `selects` are its matchLabels."""
    owners = []
    if "owner" in row:
        name, _, uid = row["owner"].partition("/")
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": name, "uid": uid}
        owners.append({**owner, "controller": True})
    refused = row.get("refused")
    conditions = [_condition("DisruptionAllowed", "False", row.get("since"), reason=refused)] if refused else []
    return {
        "metadata": {"generation": row.get("generation", 1), "ownerReferences": owners},
        "spec": {
            "selector": row.get("selector", {"matchLabels": row["selects"]} if "selects" in row else None),
            "minAvailable": row.get("minAvailable"),
            "maxUnavailable": row.get("maxUnavailable"),
            "unhealthyPodEvictionPolicy": row.get("unhealthy"),
        },
        "status": {
            "observedGeneration": row.get("observed", 1),
            "disruptionsAllowed": row.get("allowed", 0),
            "currentHealthy": row.get("healthy", 0),
            "desiredHealthy": row.get("desired", 0),
            "expectedPods": row.get("expected", 0),
            "conditions": conditions,
        },
    }


def _migration(row: dict[str, Any]) -> dict[str, Any]:
    """`evacuates` is the node to empty, `rejected` a condition that holds it up, `sends` or `receives` a pair's id."""
    notes = {"kubevirt.io/evacuationMigration": row["evacuates"]} if "evacuates" in row else None
    spec: dict[str, Any] = {"vmiName": row["vmi"]}
    if "sends" in row:
        spec["sendTo"] = {"migrationID": row["sends"], "connectURL": "x"}
    if "receives" in row:
        spec["receive"] = {"migrationID": row["receives"]}
    return {
        "metadata": {"annotations": notes},
        "spec": spec,
        "status": {
            "phase": row.get("phase"),
            "phaseTransitionTimestamps": [{"phase": row.get("phase"), "phaseTransitionTimestamp": row["phaseSince"]}]
            if "phaseSince" in row
            else [],
            "conditions": [_condition(row["rejected"], "True")] if "rejected" in row else [],
            "migrationState": {"failureReason": row["failed"]} if "failed" in row else None,
        },
    }


def _kubevirt(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "spec": {
            "configuration": {"evictionStrategy": row.get("strategy"), "migrations": row.get("migrations")},
        },
        "status": {
            "phase": "Deployed",
            "observedKubeVirtVersion": row.get("version", "v1.7.0"),
            "targetKubeVirtVersion": row.get("target", row.get("version", "v1.7.0")),
        },
    }


def _pool(row: dict[str, Any]) -> dict[str, Any]:
    vm = {"spec": {"template": {"spec": {"domain": _domain(row)}}}}
    return {"spec": {"replicas": row.get("replicas"), "virtualMachineTemplate": vm}}


def _replica_set(row: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"replicas": row.get("replicas"), "template": {"spec": {"domain": _domain(row)}}}}


def _snapshot_content(row: dict[str, Any]) -> dict[str, Any]:
    """`snapshot` is what it is of, `source` the VM that was saved."""
    saved = {"metadata": {"name": row["source"]}, "spec": {"template": {"spec": {"domain": _domain(row)}}}}
    return {"spec": {"source": {"virtualMachine": saved}, "virtualMachineSnapshotName": row.get("snapshot")}}


def _slice(row: dict[str, Any]) -> dict[str, Any]:
    """One of virt-api; `ready` and `unready` are numbers of endpoints."""
    ready = [True] * row.get("ready", 1) + [False] * row.get("unready", 0)
    return {
        "metadata": {"labels": {"kubernetes.io/service-name": row.get("service", "virt-api")}},
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": each}} for each in ready],
    }


def _maintenance(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "spec": {"nodeName": row["node"]},
        "status": {"phase": row.get("phase", "Running"), "lastError": row.get("error")},
    }


def _kubevirt_machine(row: dict[str, Any]) -> dict[str, Any]:
    notes = {"capk.cluster.x-k8s.io/vmi-deletion-grace-time": row["deadline"]} if "deadline" in row else None
    return {"metadata": {"annotations": notes}}


BUILDERS = {
    "EndpointSlice": _slice,
    "NodeMaintenance": _maintenance,
    "Node": _node,
    "PodDisruptionBudget": _pdb,
    "VirtualMachineInstanceMigration": _migration,
    "KubeVirt": _kubevirt,
    "KubevirtMachine": _kubevirt_machine,
    "VirtualMachinePool": _pool,
    "VirtualMachineInstanceReplicaSet": _replica_set,
    "VirtualMachineSnapshotContent": _snapshot_content,
}
