"""The rows of instancetypes, preferences and their revisions, and what other rows say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exporter.demo.objects import filled, new, owner

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
    made = new("ControllerRevision", namespace, row["name"], labels=labels, owners=owners, revision=0, **meta)
    if "start" in row or "of" in row or "data" in row:
        made["data"] = data
    return made


def _restore(namespace: str, row: Row, meta: Row) -> Row:
    target = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": row.get("target", "db")}
    status = filled(complete=row.get("complete"))
    return new("VirtualMachineRestore", namespace, row["name"], spec={"target": target}, status=status, **meta)


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
}
