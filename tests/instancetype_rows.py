"""Rows of VMs, instancetypes and the ControllerRevisions between them."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


CLUSTER, NAMESPACED = "VirtualMachineClusterInstancetype", "VirtualMachineInstancetype"


U1: Row = {"kind": CLUSTER, "name": "u1", "uid": "t1", "generation": 1}


def vm(name: str = "db", **more: Any) -> Row:
    return {"kind": "VirtualMachine", "name": name, "uid": f"u-{name}", "instancetype": {"name": "u1"}} | more


def revision(name: str = "r", of: str = "u1", **more: Any) -> Row:
    made = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": CLUSTER, "spec": {"cpu": {"guest": 1}}}
    meta = {"metadata": {"name": of, "uid": "t1", "generation": 1}}
    return {"kind": "ControllerRevision", "name": name, "vm": "db", "owner": "u-db", "of": made | meta} | more
