"""Lists and objects as tables, which `kubectl get` asks for: the columns that real servers and CRDs have.

Not here: tables in watches.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from .resources import Obj, ServedResource

Cell = str | int
Column = tuple[str, Callable[[Obj], Cell], int]
"""Its name, what is in it, and 1 where only `-o wide` shows it."""

_NONE = "<none>"
_UNITS = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def wants_table(headers: Mapping[str, str]) -> bool:
    """Whether it is what a request accepts best."""
    return re.match(r"application/json;as=Table;v=v1;g=meta\.k8s\.io", headers.get("Accept", "")) is not None


def table(resource: ServedResource, objects: Iterable[Obj], meta: Obj) -> bytes:
    own = _COLUMNS.get(resource.kind, ())
    first, wide = [each for each in own if not each[2]], [each for each in own if each[2]]
    columns = [("Name", _at("metadata.name"), 0), *first, ("Age", _since("metadata.creationTimestamp"), 0), *wide]
    rows = [
        {
            "cells": [cell(obj) for _, cell, _ in columns],
            "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]},
        }
        for obj in objects
    ]
    definitions = [
        {"name": name, "type": "string", "format": "name" if name == "Name" else "", "description": "", "priority": far}
        for name, _, far in columns
    ]
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
    return json.dumps(head | {"columnDefinitions": definitions, "rows": rows}).encode()


def _value(obj: Obj, path: str) -> Any:
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _at(path: str) -> Callable[[Obj], Cell]:
    def cell(obj: Obj) -> Cell:
        value = _value(obj, path)
        return _NONE if value in (None, "") else value if isinstance(value, int) else str(value)

    return cell


def _count(path: str) -> Callable[[Obj], Cell]:
    return lambda obj: _value(obj, path) or 0


def _condition(name: str) -> Callable[[Obj], Cell]:
    return lambda obj: _conditions(obj).get(name, "")


def _conditions(obj: Obj) -> dict[str, str]:
    found = _value(obj, "status.conditions")
    return {each.get("type", ""): each.get("status", "") for each in found or () if isinstance(each, dict)}


def _since(path: str) -> Callable[[Obj], Cell]:
    return lambda obj: _duration(_value(obj, path))


def _duration(timestamp: Any) -> str:
    """As kubectl writes it: 45s, 12m, 5h, 3d, in two units where the first is small."""
    try:
        then = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return "<unknown>"
    left = max(0, int((datetime.now(UTC) - then).total_seconds()))
    parts = []
    for size, unit in _UNITS:
        if left >= size:
            parts.append((left // size, unit))
            left %= size
    if not parts:
        return "0s"
    few = parts[0][0] < 10 and len(parts) > 1 and parts[0][1] != "s"
    return "".join(f"{number}{unit}" for number, unit in parts[: 2 if few else 1])


def _ready_containers(obj: Obj) -> str:
    wanted = len(_value(obj, "spec.containers") or ()) or 1
    statuses = _value(obj, "status.containerStatuses") or ()
    ready = sum(bool(each.get("ready")) for each in statuses)
    running = _conditions(obj).get("Ready") == "True" or (not statuses and _value(obj, "status.phase") == "Running")
    return f"{max(ready, wanted if running else 0)}/{wanted}"


def _pod_status(obj: Obj) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else str(_value(obj, "status.phase") or "Pending")


def _node_status(obj: Obj) -> str:
    ready = "Ready" if _conditions(obj).get("Ready") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if _value(obj, "spec.unschedulable") else ready


def _roles(obj: Obj) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    return ",".join(sorted(each.removeprefix(prefix) for each in labels if each.startswith(prefix))) or _NONE


def _address(obj: Obj) -> str:
    interfaces = _value(obj, "status.interfaces") or ()
    return next((each["ipAddress"] for each in interfaces if each.get("ipAddress")), "")


def _replicas(obj: Obj) -> str:
    wanted = _value(obj, "spec.replicas")
    return f"{_value(obj, 'status.readyReplicas') or 0}/{1 if wanted is None else wanted}"


def _about(obj: Obj) -> str:
    about = obj.get("involvedObject") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _controller(obj: Obj) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((f"{each['kind'].lower()}/{each['name']}" for each in owners if each.get("controller")), _NONE)


def _service(obj: Obj) -> str:
    service = _value(obj, "spec.service")
    return f"{service['namespace']}/{service['name']}" if service else "Local"


_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "Namespace": (("Status", _at("status.phase"), 0),),
    "Node": (
        ("Status", _node_status, 0),
        ("Roles", _roles, 0),
        ("Version", _at("status.nodeInfo.kubeletVersion"), 0),
        ("CPU", _at("status.allocatable.cpu"), 1),
        ("Memory", _at("status.allocatable.memory"), 1),
    ),
    "Pod": (
        ("Ready", _ready_containers, 0),
        ("Status", _pod_status, 0),
        ("IP", _at("status.podIP"), 1),
        ("Node", _at("spec.nodeName"), 1),
    ),
    "Event": (
        ("Last Seen", _since("lastTimestamp"), 0),
        ("Type", _at("type"), 0),
        ("Reason", _at("reason"), 0),
        ("Object", _about, 0),
        ("Message", _at("message"), 0),
    ),
    "PersistentVolumeClaim": (("Status", _at("status.phase"), 0), ("StorageClass", _at("spec.storageClassName"), 0)),
    "ControllerRevision": (("Controller", _controller, 0), ("Revision", _at("revision"), 0)),
    "Deployment": (("Ready", _replicas, 0), ("Available", _count("status.availableReplicas"), 0)),
    "PodDisruptionBudget": (
        ("Min Available", _at("spec.minAvailable"), 0),
        ("Max Unavailable", _at("spec.maxUnavailable"), 0),
        ("Allowed Disruptions", _count("status.disruptionsAllowed"), 0),
    ),
    "APIService": (("Service", _service, 0), ("Available", _condition("Available"), 0)),
    "VirtualMachine": (("Status", _at("status.printableStatus"), 0), ("Ready", _condition("Ready"), 0)),
    "VirtualMachineInstance": (
        ("Phase", _at("status.phase"), 0),
        ("IP", _address, 0),
        ("NodeName", _at("status.nodeName"), 0),
        ("Ready", _condition("Ready"), 0),
        ("Live-Migratable", _condition("LiveMigratable"), 1),
        ("Paused", _condition("Paused"), 1),
    ),
    "VirtualMachineInstanceMigration": (("Phase", _at("status.phase"), 0), ("VMI", _at("spec.vmiName"), 0)),
    "KubeVirt": (("Phase", _at("status.phase"), 0), ("Version", _at("status.observedKubeVirtVersion"), 0)),
}
