"""The rows of instancetypes, preferences and their revisions, and what other rows say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo.fleet.objects import condition, filled, new, owner

__all__ = ["BUILDERS", "matchers", "put", "put_template", "with_template"]

Row = dict[str, Any]
_GROUP = "instancetype.kubevirt.io"
_SMALL: Row = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}


def put(thing: Row, over: Row) -> None:
    """What `over` names takes the place of what is there; a null stays one."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(thing.get(key), dict):
            put(thing[key], value)
        else:
            thing[key] = value


def matchers(row: Row) -> Row:
    """`instancetype` and `preference` of a row, as the spec has them."""
    return {role: row[role] for role in ("instancetype", "preference") if role in row}


def put_template(template: Row, row: Row) -> None:
    """What a row says of a template of VMIs: `domain` and `template` go over its spec, `templateAnnotations` beside."""
    put(template["spec"], row.get("template", {}))
    put(template["spec"].setdefault("domain", {}), row.get("domain", {}))
    if "templateAnnotations" in row:
        template.setdefault("metadata", {})["annotations"] = row["templateAnnotations"]


def with_template(thing: Row, row: Row) -> None:
    """Puts what a VM's row says beside the spec of its VMIs: its template, matchers,
    and the references of its status; a text there is the name of a ControllerRevision.
    """
    thing["spec"] |= matchers(row)
    put_template(thing["spec"]["template"], row)
    for role in ("instancetype", "preference"):
        ref = row.get(f"{role}Ref")
        if isinstance(ref, str):
            matcher = {key: value for key, value in (row.get(role) or {}).items() if key in ("name", "kind")}
            ref = matcher | {"controllerRevisionRef": {"name": ref}}
        if f"{role}Ref" in row:
            thing["status"] = (thing.get("status") or {}) | {f"{role}Ref": ref}


def _kept(kind: str, spec: Row) -> Callable[[str, Row, Row], Row]:
    def build(namespace: str, row: Row, meta: Row) -> Row:
        more: Row = {key: row[key] for key in ("generation", "labels", "annotations") if key in row}
        if row.get("deleting"):
            more["finalizers"] = ("example.org/held",)
        return new(kind, namespace, row["name"], spec=row.get("spec", spec), **meta | more)

    return build


def _revision(namespace: str, row: Row, meta: Row) -> Row:
    """`of` is the object that it is a copy of, for the `vm` or `snapshot` with UID `owner`; `by` is who wrote it."""
    data = {"spec": row["start"]} if "start" in row else row.get("of", row.get("data"))
    of: Row = row.get("of") or {}
    inner: Row = of.get("metadata") or {}
    labels = row.get("labels")
    if labels is None and of:
        labels = {
            f"{_GROUP}/object-generation": str(inner.get("generation", 1)),
            f"{_GROUP}/object-kind": of.get("kind", ""),
            f"{_GROUP}/object-name": inner.get("name", ""),
            f"{_GROUP}/object-uid": inner.get("uid", ""),
            f"{_GROUP}/object-version": of.get("apiVersion", "").rpartition("/")[2],
        }
    owners = [owner("VirtualMachine", row.get("vm", "db"), row["owner"])] if "owner" in row else []
    if "snapshot" in row:
        owners = [owner("VirtualMachineSnapshot", row["snapshot"], row["owner"], "snapshot.kubevirt.io/v1beta1")]
    made = new("ControllerRevision", namespace, row["name"], labels=labels, owners=owners, revision=0, **meta)
    if "start" in row or "of" in row or "data" in row:
        made["data"] = data
    if "by" in row:
        made["metadata"]["managedFields"] = [_created_by(row["by"])]
    return made


def _created_by(manager: str) -> Row:
    fields: Row = {
        "f:data": {},
        "f:metadata": {"f:labels": {".": {}}, "f:ownerReferences": {".": {}}},
        "f:revision": {},
    }
    labels = ("generation", "kind", "name", "uid", "version")
    fields["f:metadata"]["f:labels"] |= {f"f:{_GROUP}/object-{each}": {} for each in labels}
    return {"manager": manager, "operation": "Update", "time": "2026-05-04T08:12:31Z", "fieldsV1": fields}


def _restore(namespace: str, row: Row, meta: Row) -> Row:
    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": row.get("target", "db")}
    spec = {"target": target, "virtualMachineSnapshotName": row.get("snapshot", "s")} | filled(
        patches=row.get("patches")
    )
    status = filled(complete=row.get("complete"))
    return new("VirtualMachineRestore", namespace, row["name"], spec=spec, status=status, **meta)


def _source(row: Row) -> Row:
    """What one is of: a VM, or with `sourceKind` something else."""
    kind = row.get("sourceKind", "VirtualMachine")
    group = {"VirtualMachineSnapshot": "snapshot.", "VirtualMachineBackupTracker": "backup."}.get(kind, "")
    return {"apiGroup": f"{group}kubevirt.io", "kind": kind, "name": row.get("source", "db")}


def _snapshot(namespace: str, row: Row, meta: Row) -> Row:
    status = filled(phase=row.get("phase"))
    return new("VirtualMachineSnapshot", namespace, row["name"], spec={"source": _source(row)}, status=status, **meta)


def _clone(namespace: str, row: Row, meta: Row) -> Row:
    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": row["target"]} if "target" in row else None
    spec = {"source": _source(row)} | filled(target=target, patches=row.get("patches"))
    spec |= filled(newMacAddresses=row.get("newMacs"), newSMBiosSerial=row.get("newSerial"))
    status = filled(phase=row.get("phase"), targetName=row.get("targetName"))
    return new("VirtualMachineClone", namespace, row["name"], spec=spec, status=status, **meta)


def _vm_backup(namespace: str, row: Row, meta: Row) -> Row:
    """`done` is the type of the condition that says that it is over."""
    conditions = [condition("Progressing", "done" not in row, meta["created"], reason="Initiated", message="")]
    conditions += (
        [condition(row["done"], True, meta["created"], reason="Completed", message="")] if "done" in row else []
    )
    spec, status = {"source": _source(row), "pvcName": "backups"}, {"conditions": conditions}
    return new("VirtualMachineBackup", namespace, row["name"], spec=spec, status=status, **meta)


def _velero(kind: str) -> Callable[[str, Row, Row], Row]:
    """One is in namespace velero; `included`, `excluded` and `mapping` are its namespaces."""

    def build(_: str, row: Row, meta: Row) -> Row:
        names = {"included": "includedNamespaces", "excluded": "excludedNamespaces", "mapping": "namespaceMapping"}
        spec = {field: row[name] for name, field in names.items() if name in row}
        return new(kind, "velero", row["name"], spec=spec, status=filled(phase=row.get("phase")), **meta)

    return build


def _preset(namespace: str, row: Row, meta: Row) -> Row:
    selector = {"matchLabels": row.get("selector", {})}
    return new("VirtualMachineInstancePreset", namespace, row["name"], spec={"selector": selector}, **meta)


BUILDERS = {
    "VirtualMachineInstancetype": _kept("VirtualMachineInstancetype", _SMALL),
    "VirtualMachineClusterInstancetype": _kept("VirtualMachineClusterInstancetype", _SMALL),
    "VirtualMachinePreference": _kept("VirtualMachinePreference", {}),
    "VirtualMachineClusterPreference": _kept("VirtualMachineClusterPreference", {}),
    "ControllerRevision": _revision,
    "VirtualMachineRestore": _restore,
    "VirtualMachineInstancePreset": _preset,
    "VirtualMachineSnapshot": _snapshot,
    "VirtualMachineClone": _clone,
    "VirtualMachineBackup": _vm_backup,
    "Restore": _velero("Restore"),
    "Backup": _velero("Backup"),
}
