"""Short rows of a case file to full objects, as the API server would send them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from exporter.model.kinds.ipam_claim import FINALIZER
from tests.vm_rows import BUILDERS, launcher, vm, vmi

__all__ = ["CLUSTER_WIDE", "CREATED", "DELETED", "full"]

CREATED, DELETED = "2026-05-04T08:12:31Z", "2026-06-03T16:20:00Z"


CLUSTER_WIDE = ("Namespace", "ClusterUserDefinedNetwork", "MutatingWebhookConfiguration", "Node", "NodeMaintenance")


def full(row: dict[str, Any]) -> dict[str, Any]:
    """The object of one row. Raises KeyError for a kind that no row can have."""
    made = _BUILDERS[row["kind"]](row)
    meta = {
        "name": row["name"],
        "uid": row.get("uid") or f"uid-{row['kind']}-{row.get('namespace', 'ns')}-{row['name']}",
        "creationTimestamp": row.get("created", CREATED),
        **made.pop("metadata", {}),
    }
    if row["kind"] not in CLUSTER_WIDE:
        meta["namespace"] = row.get("namespace", "ns")
    if row.get("deleting"):
        meta["deletionTimestamp"] = DELETED
    if row.get("undecodable"):
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
        "status": {"ips": row.get("ips"), "conditions": _conditions(row)},
    }


def _conditions(row: dict[str, Any]) -> list[dict[str, Any]]:
    if "refused" not in row:
        return []
    return [{"type": "IPsAllocated", "status": "False", "reason": row["refused"], "lastTransitionTime": CREATED}]


def _networks(row: dict[str, Any]) -> dict[str, Any]:
    """`networks` of a row: logical name to NAD, or to `pod`; the ones named in `absent` are being unplugged."""
    networks: list[dict[str, Any]] = []
    interfaces: list[dict[str, Any]] = []
    for name, nad in row.get("networks", {"blue": "blue", "red": "red"}).items():
        way = {"pod": {}} if nad == "pod" else {"multus": {"networkName": nad}}
        if name in row.get("default", ()):
            way["multus"]["default"] = True
        networks.append({"name": name, **way})
        interfaces.append({"name": name, "state": "absent" if name in row.get("absent", ()) else None})
    return {"networks": networks, "domain": {"devices": {"interfaces": interfaces}}}


def _vm(row: dict[str, Any]) -> dict[str, Any]:
    own = vm(row)
    template = _over(_networks(row), own.pop("template"))
    made = _over(own, {"spec": {"template": {"spec": template}}})
    if "stopped" in row:
        ready = {"type": "Ready", "status": "False", "reason": "VMINotExists", "lastTransitionTime": row["stopped"]}
        made["status"]["conditions"].append(ready)
    return made


def _vmi(row: dict[str, Any]) -> dict[str, Any]:
    owners = [_owner("VirtualMachine", row["name"], row["vm"])] if "vm" in row else []
    if "set" in row:
        owners.append(_owner("VirtualMachineInstanceReplicaSet", row["set"], "uid-set"))
    notes = {"network.kubevirt.io/addresses": json.dumps(row["requested"])} if "requested" in row else {}
    networks = {
        "metadata": {"ownerReferences": owners, "annotations": notes},
        "spec": _networks(row),
        "status": {"phase": row.get("phase", "Running")},
    }
    return _over(networks, vmi(row))


def _over(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Both, the latter over the former."""
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _over(merged[key], value) if both else value
    return merged


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
    if "attached" in row:  # NAD to claim, or to nothing
        notes["k8s.v1.cni.cncf.io/networks"] = json.dumps(
            [
                {"namespace": key.split("/")[0], "name": key.split("/")[1], "ipam-claim-reference": claim}
                for key, claim in row["attached"]
            ]
        )
    if "addresses" in row:
        notes["k8s.ovn.org/pod-networks"] = json.dumps(
            {"default": {"ip_addresses": ["10.244.0.9/24"]}}
            | {nad: {"ip_addresses": ips} for nad, ips in row["addresses"].items()}
        )
    own = {
        "metadata": {"labels": labels, "annotations": notes},
        "spec": {"nodeName": row.get("node", "node01")},
        "status": {"phase": row.get("phase", "Running")},
    }
    return _over(launcher(row), own)


def _nad(row: dict[str, Any]) -> dict[str, Any]:
    """A NAD that is well, with `config` over it; a `config` that is text is taken as it is."""
    config: Any = {
        "cniVersion": "1.0.0",
        "name": row.get("network", "tenantblue"),
        "type": "ovn-k8s-cni-overlay",
        "topology": "layer2",
        "netAttachDefName": f"{row.get('namespace', 'ns')}/{row['name']}",
        "subnets": row.get("subnets", "10.0.0.0/16"),
        "allowPersistentIPs": row.get("persistent", True),
    }
    extra = row.get("config", {})
    text = extra if isinstance(extra, str) else json.dumps({**config, **extra})
    notes = {"k8s.ovn.org/network-id": "7"} if row.get("accepted", True) else {}
    return {"metadata": {"annotations": notes}, "spec": {"config": text}}


def _deployment(row: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"replicas": row.get("replicas", 1)}, "status": {"readyReplicas": row.get("ready", 1)}}


def _webhook(row: dict[str, Any]) -> dict[str, Any]:
    return {"webhooks": [{"name": row["webhook"], "clientConfig": {"caBundle": row.get("ca")}}]}


def _udn(row: dict[str, Any]) -> dict[str, Any]:
    network = {"topology": "Layer2", "layer2": {"role": "Secondary", "subnets": row.get("subnets", [])}}
    conditions = []
    if "failed" in row:
        message = {"reason": "SyncError", "message": row["failed"], "lastTransitionTime": CREATED}
        conditions.append({"type": "NetworkCreated", "status": "False", **message})
    spec = network if row["kind"] == "UserDefinedNetwork" else {"namespaceSelector": {}, "network": network}
    return {"spec": spec, "status": {"conditions": conditions}}


_BUILDERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "IPAMClaim": _claim,
    "VirtualMachine": _vm,
    "Deployment": _deployment,
    "MutatingWebhookConfiguration": _webhook,
    "VirtualMachineInstance": _vmi,
    "Pod": _pod,
    "NetworkAttachmentDefinition": _nad,
    "UserDefinedNetwork": _udn,
    "ClusterUserDefinedNetwork": _udn,
    "Namespace": lambda _: {},
    **BUILDERS,
}
