"""The rows of VMs, their pods and migrations, and of the nodes that they may run on."""

from __future__ import annotations

import json
from typing import Any

from demo.fleet import objects
from demo.fleet import surroundings as around
from demo.fleet.objects import condition, filled, new, owner
from demo.fleet.pods import attached, launcher, pod
from tests.sizing_rows import matchers, put, put_template, with_template

__all__ = ["BUILDERS"]

Row = dict[str, Any]


def _spec(row: Row) -> Row:
    """The spec of a VMI.

    `networks` are logical names with the NAD of each, or `pod`; those named in `absent` are being unplugged.
    `macs` are MAC addresses by logical names, `bindings` other bindings than the usual ones, of the spec's interfaces.
    `uuid` and `serial`, or a whole `firmware`; `tpm` and `efi` for state that is kept; `terminate`, `cpu`.
    """
    firmware = {key: row[key] for key in ("uuid", "serial") if key in row} | row.get("firmware", {})
    if row.get("efi"):
        firmware["bootloader"] = {"efi": {"persistent": True}}
    made = objects.vmi_spec(
        row.get("networks", {"blue": "blue", "red": "red"}),
        unplugged=row.get("absent", ()),
        primary=row.get("default", ()),
        domain=filled(
            firmware=firmware or None,
            devices={"tpm": {"persistent": True}} if row.get("tpm") else {},
            rebootPolicy="Terminate" if row.get("terminate") else None,
            cpu={"model": row["cpu"]} if "cpu" in row else None,
        ),
        evictionStrategy=row.get("strategy"),
        priorityClassName=row.get("priorityClass"),
        terminationGracePeriodSeconds=row.get("termination"),
    )
    for each in made["domain"]["devices"].get("interfaces", ()):
        if each["name"] in row.get("bindings", {}):
            for key in ("bridge", "masquerade"):
                each.pop(key, None)
            each.update(row["bindings"][each["name"]])
        if each["name"] in row.get("macs", {}):
            each["macAddress"] = row["macs"][each["name"]]
    return made


def _vm(namespace: str, row: Row, meta: Row) -> Row:
    """`origin` is where it came from: a `restore`, a `backup`, a `manifest`; `uuidWritten` are managedFields, by
    `{manager: time}`, of whoever wrote the firmware UUID, or a list of them as they are.

    `restart` is the message of its condition RestartRequired, `restartSince` its time.
    `stop` is what its annotation says of a stop for a drain, by default that of its own as the sidecar writes it;
    `setBy` are the field managers of its run strategy.
    """
    labels, notes, owners = dict(row.get("labels", {})), dict(row.get("annotations", {})), []
    if row.get("origin") == "restore":
        notes["restore.kubevirt.io/lastRestoreUID"] = "r1"
    if row.get("origin") == "backup":
        labels["velero.io/restore-name"] = "r1"
    if row.get("origin") == "manifest":
        applied = f'{{"firmware":{{"uuid":"{row["uuid"]}"}}}}'
        notes["kubectl.kubernetes.io/last-applied-configuration"] = applied
    if "pool" in row:
        owners.append(owner("VirtualMachinePool", row["pool"], f"uid-{row['pool']}", "pool.kubevirt.io/v1beta1"))
    conditions = [condition("Failure", True, reason=row["failure"])] if "failure" in row else []
    if "restart" in row:
        since = row.get("restartSince", "2026-09-20T10:00:00Z")
        conditions.append(condition("RestartRequired", True, since) | filled(message=row["restart"]))
    if "stopped" in row:
        conditions.append(condition("Ready", False, row["stopped"], reason="VMINotExists"))
    made = objects.vm(
        namespace,
        row["name"],
        _spec(row),
        run_strategy=row.get("runStrategy"),
        status=filled(conditions=conditions, printableStatus=row.get("status")),
        labels=labels,
        annotations=notes,
        owners=owners,
        **meta,
    )
    with_template(made, row)
    if "uuidWritten" in row:
        made["metadata"]["managedFields"] = _uuid_written(row["uuidWritten"])
    if "stop" in row:
        stop = {"by": "kubevirt-steward", "vm": made["metadata"]["uid"], "vmi": "i", "runStrategy": "Always"}
        notes = made["metadata"].setdefault("annotations", {})
        notes["steward.kubevirt-steward.io/stopped-for-drain"] = json.dumps(stop | row["stop"])
    if "setBy" in row:
        spec: Row = {f"f:{row.get('stop', {}).get('field', 'runStrategy')}": {}}
        made["metadata"]["managedFields"] = [
            {"manager": each, "operation": "Update", "time": "2026-09-21T13:00:00Z", "fieldsV1": {"f:spec": spec}}
            for each in row["setBy"]
        ]
    return made


def _uuid_written(by: Any) -> Any:
    if not isinstance(by, dict):
        return by
    fields: Row = {"f:uuid": {}}
    for name in ("firmware", "domain", "spec", "template", "spec"):
        fields = {f"f:{name}": {".": {}, **fields}}
    return [{"manager": name, "operation": "Update", "time": time, "fieldsV1": fields} for name, time in by.items()]


def _vmi(namespace: str, row: Row, meta: Row) -> Row:
    """`migratable` is true, false, or the reason why it is not; left out, not evaluated.

    `spec` goes over its spec, `domain` over the domain in it.
    `reports` is status.interfaces; its elements have the guest agent as their source, if they name no other.
    `evacuation` is the node that it is to leave, `evacuation_since` since when, `evacuation_written` when it was
    written by managedFields; `migration` is status.migrationState.
    """
    labels, notes = dict(row.get("labels", {})), dict(row.get("annotations", {}))
    if row.get("descheduled"):
        notes["kubevirt.io/eviction-source"] = "descheduler"
    if "requested" in row:
        notes["network.kubevirt.io/addresses"] = json.dumps(row["requested"])
    if row.get("outdated"):
        labels["kubevirt.io/outdatedLauncherImage"] = ""
    owners = [owner("VirtualMachine", row["name"], row["vm"])] if "vm" in row else []
    if "set" in row:
        owners.append(owner("VirtualMachineInstanceReplicaSet", row["set"], "uid-set"))
    conditions = [objects.migratable(row["migratable"])] if "migratable" in row else []
    if row.get("migratable") == "Unknown":
        conditions = [condition("LiveMigratable", False) | {"status": "Unknown"}]
    if "evacuation_since" in row:
        conditions.append(condition("EvictionRequested", True, row["evacuation_since"], reason="EvictionRequested"))
    if row.get("paused"):
        conditions.append(condition("Paused", True))
    spec = _spec(row)
    put(spec, row.get("spec", {}))
    put(spec["domain"], row.get("domain", {}))
    made = objects.vmi(
        namespace,
        row["name"],
        spec,
        node=row.get("node", "node01"),
        phase=row.get("phase", "Running"),
        evacuation=row.get("evacuation"),
        conditions=conditions,
        status={"migrationState": row.get("migration")}
        | ({"virtualMachineRevisionName": row["revision"]} if "revision" in row else {})
        | ({"interfaces": _reported(row["reports"])} if "reports" in row else {}),
        labels=labels,
        annotations=notes,
        owners=owners,
        **meta,
    )
    if "evacuation_written" in row:
        fields: Row = {"f:status": {"f:evacuationNodeName": {}}}
        write = {"manager": "virt-api", "operation": "Update", "time": row["evacuation_written"], "fieldsV1": fields}
        handler = {"manager": "virt-handler", "operation": "Update", "fieldsV1": {"f:status": {"f:phase": {}}}}
        made["metadata"]["managedFields"] = [write, handler | {"time": "2026-09-21T14:13:00Z"}]
    return made


def _reported(interfaces: list[Row | None]) -> list[Row | None]:
    return [each and {"infoSource": "domain, guest-agent"} | each for each in interfaces]


def _pod(namespace: str, row: Row, meta: Row) -> Row:
    """`domain` makes it a launcher; `vmi` is its VMI's uid, `migration` that of the migration that it is the target of.

    `claims` are those it refers to, or `attached` its NADs with the claim of each, `primary` that of the primary
    network; `addresses` are what it holds.
    `since` is when it was scheduled; `hotplug` the launcher that a volume's pod belongs to, `by` a controller's kind.
    `waits` is [container, reason, message] of one that waits to start, `sandboxed` whether its sandbox is there, and
    `ended` has the containers that have ended.
    `evicted` makes it one that ends since an eviction was granted, at that time; `disrupted` for another reason.
    """
    attachments = [("ns/blue", claim) for claim in row.get("claims", ())]
    attachments += [(key, claim) for key, claim in row.get("attached", ())]
    own = "10.244.0.9/24" if "addresses" in row else ""
    notes = attached(attachments, row.get("addresses"), own) | row.get("annotations", {})
    if "primary" in row:
        notes["k8s.ovn.org/primary-udn-ipamclaim"] = row["primary"]
    marks, owners = {}, []
    if "hotplug" in row:
        marks["kubevirt.io"] = "hotplug-disk"
        owners.append(owner("Pod", row["hotplug"], "p", "v1"))
    if "by" in row:
        owners.append(owner(row["by"], "set", "s", "apps/v1"))
    if row.get("mirror"):
        notes["kubernetes.io/config.mirror"] = "x"
    unschedulable = row.get("unschedulable")
    more: Row = {
        "node": row.get("node", "" if unschedulable else "node01"),
        "phase": row.get("phase", "Pending" if unschedulable else "Running"),
        "ready": row.get("ready", True),
        "unschedulable": unschedulable,
        "since": row.get("since"),
        "requests": row.get("requests"),
        "spec": row.get("placement"),
        "annotations": notes,
        "owners": owners,
        **meta,
    }
    ids = filled(**{"kubevirt.io/created-by": row.get("vmi"), "kubevirt.io/migrationJobUID": row.get("migration")})
    labels = ids | marks | row.get("labels", {})
    made = (
        launcher(namespace, row["name"], row["domain"], labels=labels, **more)
        if "domain" in row
        else pod(namespace, row["name"], labels=labels, **more)
    )
    if "waits" in row or "ended" in row:
        _contained(made, row)
    if "evicted" in row or "disrupted" in row:
        why = row.get("disrupted", "EvictionByEvictionAPI")
        made["status"]["conditions"].append(condition("DisruptionTarget", True, row.get("evicted"), reason=why))
    return made


def _contained(made: Row, row: Row) -> None:
    statuses = [
        {"name": name, "ready": False, "state": {"terminated": {"exitCode": 0}}} for name in row.get("ended", ())
    ]
    if "waits" in row:
        name, reason, message = row["waits"]
        waiting = filled(reason=reason, message=message)
        statuses.append({"name": name, "ready": False, "state": {"waiting": waiting}})
    made["status"]["containerStatuses"] = statuses
    if "sandboxed" in row:
        made["status"]["conditions"].append(condition("PodReadyToStartContainers", row["sandboxed"]))


def _node(_: str, row: Row, meta: Row) -> Row:
    """`taints` are texts such as `kubevirt.io/drain:NoSchedule`."""
    made: Row = around.node(
        row["name"],
        room=row.get("allocatable", {"cpu": "16", "memory": "64Gi", "pods": "110"}),
        cordoned=row.get("cordoned"),
        taints=row.get("taints", ()),
        ready=row.get("ready", True),
        labels=row.get("labels"),
        status={"nodeInfo": {"systemUUID": row.get("systemUUID", ""), "kubeletVersion": row.get("kubelet", "v1.35.0")}},
        **meta,
    )
    put(made, {"metadata": {"annotations": row["annotations"]}} if "annotations" in row else {})
    return made


def _pdb(namespace: str, row: Row, meta: Row) -> Row:
    """`owner` is the VMI that controls it, by `name/uid`; `selects` are its matchLabels."""
    name, _, uid = row.get("owner", "").partition("/")
    return around.pdb(
        namespace,
        row["name"],
        row.get("selector", {"matchLabels": row["selects"]} if "selects" in row else None),
        min_available=row.get("minAvailable"),
        max_unavailable=row.get("maxUnavailable"),
        allowed=row.get("allowed", 0),
        healthy=row.get("healthy", row.get("allowed", 0) + row.get("desired", 0)),
        desired=row.get("desired", 0),
        expected=row.get("expected", 0),
        refused=row.get("refused"),
        since=row.get("since"),
        observed=row.get("observed", 1),
        generation=row.get("generation", 1),
        unhealthy=row.get("unhealthy"),
        owners=[owner("VirtualMachineInstance", name, uid)] if name else (),
        **meta,
    )


def _migration(namespace: str, row: Row, meta: Row) -> Row:
    """`evacuates` is the node to empty, `rejected` a condition that holds it up, `sends` or `receives` a pair's id."""
    sends, receives = row.get("sends"), row.get("receives")
    return objects.migration(
        namespace,
        row["name"],
        row["vmi"],
        phase=row.get("phase"),
        since=row.get("phaseSince"),
        evacuates=row.get("evacuates"),
        failure=row.get("failed"),
        conditions=[condition(row["rejected"], True)] if "rejected" in row else [],
        spec=filled(
            sendTo={"migrationID": sends, "connectURL": "x"} if sends else None,
            receive={"migrationID": receives} if receives else None,
        ),
        **meta,
    )


def _kubevirt(namespace: str, row: Row, meta: Row) -> Row:
    """`gates` and `disabledGates` are its lists, even an empty one or null; `configuration` goes over all of it.
    `built` is what its operator was built of.
    """
    policy = row.get("referencePolicy")
    lists = {"featureGates": "gates", "disabledFeatureGates": "disabledGates"}
    developer = {field: row[key] for field, key in lists.items() if key in row}
    configuration = {
        "evictionStrategy": row.get("strategy"),
        "migrations": row.get("migrations"),
        "instancetype": {"referencePolicy": policy} if policy else None,
        "developerConfiguration": developer or None,
    }
    made = around.kubevirt(
        namespace,
        row["name"],
        row.get("version", "v1.7.0"),
        target=row.get("target"),
        configuration=configuration,
        status={"phase": row.get("phase", "Deployed")} | filled(operatorVersion=row.get("built")),
        labels=row.get("labels"),
        annotations=row.get("annotations"),
        **meta,
    )
    made["spec"] |= filled(imageTag=row.get("imageTag"))
    put(made["spec"]["configuration"], row.get("configuration", {}))
    return made


def _pool(namespace: str, row: Row, meta: Row) -> Row:
    template: Row = {"spec": _spec(row)}
    put_template(template, row)
    spec = filled(replicas=row.get("replicas"), virtualMachineTemplate={"spec": {"template": template} | matchers(row)})
    return new("VirtualMachinePool", namespace, row["name"], spec=spec, **meta)


def _replica_set(namespace: str, row: Row, meta: Row) -> Row:
    template: Row = {"spec": _spec(row)}
    put_template(template, row)
    spec = filled(replicas=row.get("replicas"), template=template)
    return new("VirtualMachineInstanceReplicaSet", namespace, row["name"], spec=spec, **meta)


def _snapshot_content(namespace: str, row: Row, meta: Row) -> Row:
    """`snapshot` is what it is of, `source` the VM that was saved."""
    saved = {"metadata": {"name": row["source"]}, "spec": {"template": {"spec": _spec(row)}} | matchers(row)}
    spec = filled(source={"virtualMachine": saved}, virtualMachineSnapshotName=row.get("snapshot"))
    return new("VirtualMachineSnapshotContent", namespace, row["name"], spec=spec, **meta)


def _slice(namespace: str, row: Row, meta: Row) -> Row:
    """One of virt-api; `ready` and `unready` are numbers of endpoints."""
    counts = {"ready": row.get("ready", 1), "unready": row.get("unready", 0)}
    return around.endpoints(namespace, row["name"], row.get("service", "virt-api"), **counts, **meta)


def _maintenance(_: str, row: Row, meta: Row) -> Row:
    status = filled(phase=row.get("phase", "Running"), lastError=row.get("error"))
    return new("NodeMaintenance", "", row["name"], spec={"nodeName": row["node"]}, status=status, **meta)


def _kubevirt_machine(namespace: str, row: Row, meta: Row) -> Row:
    notes = {"capk.cluster.x-k8s.io/vmi-deletion-grace-time": row["deadline"]} if "deadline" in row else None
    return new("KubevirtMachine", namespace, row["name"], annotations=notes, **meta)


def _storage_class(_: str, row: Row, meta: Row) -> Row:
    """`default` says that it is the cluster's default, `virtDefault` that it is the one for VMs."""
    keys = {
        "default": "storageclass.kubernetes.io/is-default-class",
        "virtDefault": "storageclass.kubevirt.io/is-default-virt-class",
    }
    annotations = {key: str(bool(row[name])).lower() for name, key in keys.items() if name in row}
    metadata = filled(
        name=row["name"], uid=meta["uid"], creationTimestamp=meta["created"], annotations=annotations or None
    )
    made: Row = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
    return made | {"provisioner": row.get("provisioner", "csi.example.org")}


BUILDERS = {
    "StorageClass": _storage_class,
    "VirtualMachine": _vm,
    "VirtualMachineInstance": _vmi,
    "Pod": _pod,
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
