"""Rows for changes of KubeVirt: gates, settings and who asks for them."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


HOST_DISK: Row = {"template": {"volumes": [{"name": "d", "hostDisk": {"path": "/d", "type": "Disk"}}]}}


REBOOT: Row = {"domain": {"rebootPolicy": "Terminate"}}


VSOCK: Row = {"domain": {"devices": {"autoattachVSOCK": True}}}


def kubevirt(version: str = "v1.8.4", gates: tuple[str, ...] = (), disabled: tuple[str, ...] = (), **more: Any) -> Row:
    return {
        "kind": "KubeVirt",
        "name": "kubevirt",
        "namespace": "kubevirt",
        "version": version,
        "gates": list(gates),
        "disabledGates": list(disabled),
        **more,
    }


def vm(name: str, *features: Row, running: bool = False, **more: Any) -> list[Row]:
    """A VM, and its VMI with the same features where it runs."""
    spec: Row = {}
    for feature in features:
        spec = merged(spec, feature)
    row: Row = {"kind": "VirtualMachine", "name": name, "uid": f"u-{name}", "networks": {}} | spec
    row |= {"runStrategy": "Always" if running else "Halted"} | {
        k: v for k, v in more.items() if k in ("namespace", "runStrategy")
    }
    if not running:
        return [row]
    vmi = {"kind": "VirtualMachineInstance", "name": name, "vm": f"u-{name}", "networks": {}, "phase": "Running"}
    own = {
        "domain": spec.get("domain", {}),
        "spec": spec.get("template", {}),
        "annotations": spec.get("templateAnnotations", {}),
    }
    return [row, vmi | own | {k: v for k, v in more.items() if k != "runStrategy"}]


def merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: merged(one.get(key), value) for key, value in other.items()}
    return one + other if isinstance(one, list) and isinstance(other, list) else other
