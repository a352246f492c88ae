"""Short rows of a case file to full objects, as the API server would send them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from exporter.model.ipam_claim import FINALIZER

__all__ = ["CREATED", "DELETED", "full"]

CREATED, DELETED = "2026-05-04T08:12:31Z", "2026-06-03T16:20:00Z"


def full(row: dict[str, Any]) -> dict[str, Any]:
    """The object of one row. Raises KeyError for a kind that no row can have."""
    made = _BUILDERS[row["kind"]](row)
    meta = {
        "name": row["name"],
        "uid": row.get("uid") or f"uid-{row['kind']}-{row.get('namespace', 'ns')}-{row['name']}",
        "creationTimestamp": CREATED,
        **made.pop("metadata", {}),
    }
    if row["kind"] != "Namespace":
        meta["namespace"] = row.get("namespace", "ns")
    if row.get("deleting"):
        meta["deletionTimestamp"] = DELETED
    if row.get("odd"):
        meta["creationTimestamp"] = {"not": "a time"}
    return {"apiVersion": "v1", "kind": row["kind"], "metadata": meta, **made}


def _owner(kind: str, name: str, uid: str, group: str = "kubevirt.io/v1") -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "name": name, "uid": uid, "controller": True}


def _claim(row: dict[str, Any]) -> dict[str, Any]:
    owners = []
    if "owner" in row:
        name = row.get("ownerName") or row.get("vm", "")
        owners.append(_owner(row.get("ownerKind", "VirtualMachine"), name, row["owner"]))
    if "otherOwner" in row:
        owners.append(_owner("Import", "import", row["otherOwner"], "example.org/v1"))
    meta: dict[str, Any] = {"finalizers": row.get("finalizers", [FINALIZER]), "ownerReferences": owners}
    if "vm" in row:
        meta["labels"] = {"kubevirt.io/vm": row["vm"]}
    if row.get("bare"):
        return {"metadata": meta}
    return {
        "metadata": meta,
        "spec": {"network": row.get("network", "tenantblue"), "interface": ""},
        "status": {"ips": row.get("ips")},
    }


def _vmi(row: dict[str, Any]) -> dict[str, Any]:
    owners = [_owner("VirtualMachine", row["name"], row["vm"])] if "vm" in row else []
    return {"metadata": {"ownerReferences": owners}, "status": {"phase": "Running", "nodeName": "node01"}}


def _pod(row: dict[str, Any]) -> dict[str, Any]:
    notes: dict[str, str] = {}
    labels: dict[str, str] = {}
    if "domain" in row:
        notes["kubevirt.io/domain"] = row["domain"]
        labels["kubevirt.io"] = "virt-launcher"
    if "claims" in row:
        notes["k8s.v1.cni.cncf.io/networks"] = json.dumps(
            [{"name": "blue", "namespace": "ns", "ipam-claim-reference": claim} for claim in row["claims"]]
        )
    if "addresses" in row:
        notes["k8s.ovn.org/pod-networks"] = json.dumps(
            {"default": {"ip_addresses": ["10.244.0.9/24"]}}
            | {nad: {"ip_addresses": ips} for nad, ips in row["addresses"].items()}
        )
    return {
        "metadata": {"labels": labels, "annotations": notes},
        "spec": {"nodeName": "node01"},
        "status": {"phase": row.get("phase", "Running")},
    }


def _nad(row: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"config": json.dumps({"cniVersion": "1.0.0", "name": row["network"]})}}


_BUILDERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "IPAMClaim": _claim,
    "VirtualMachine": lambda _: {"spec": {}},
    "VirtualMachineInstance": _vmi,
    "Pod": _pod,
    "NetworkAttachmentDefinition": _nad,
    "Namespace": lambda _: {},
}
