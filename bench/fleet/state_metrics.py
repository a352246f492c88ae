"""kube-state-metrics, set up to show of the same kinds what the steward reads of them, as far as its configuration can.

It shows custom resources only, so it has no ControllerRevisions; and what is wrong is left to queries over its series.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.fleet.changes import LABEL

__all__ = ["ALLOWED", "arguments"]

_PLACE = {"namespace": ["metadata", "namespace"], "name": ["metadata", "name"]}
_FIRMWARE = ["domain", "firmware", "uuid"]

ALLOWED = (  # what of pods, nodes and namespaces the steward has a use for
    "kube_pod_info",
    "kube_pod_created",
    "kube_pod_deletion_timestamp",
    "kube_pod_owner",
    "kube_pod_status_phase",
    "kube_pod_status_ready",
    "kube_pod_status_scheduled",
    "kube_pod_container_resource_requests",
    "kube_node_info",
    "kube_node_spec_unschedulable",
    "kube_node_spec_taint",
    "kube_node_status_condition",
    "kube_node_status_allocatable",
    "kube_namespace_status_phase",
    "kube_customresource_.*",
)


def arguments(folder: Path, kubeconfig: Path, port: int, own_port: int, *, cut: bool) -> list[str]:
    """Its flags; all that are not named have their default."""
    config = folder / "custom-resources.json"
    config.write_text(json.dumps(_configuration()), encoding="utf-8")
    given = [
        f"--kubeconfig={kubeconfig}",
        "--host=127.0.0.1",
        f"--port={port}",
        "--telemetry-host=127.0.0.1",
        f"--telemetry-port={own_port}",
        "--resources=pods,nodes,namespaces",
        f"--custom-resource-state-config-file={config}",
    ]
    return [*given, f"--metric-allowlist={','.join(f'{name}$' for name in ALLOWED)}"] if cut else given


def _configuration() -> Any:
    kinds = [
        _kind("kubevirt.io", "v1", "VirtualMachine", _VM),
        _kind("kubevirt.io", "v1", "VirtualMachineInstance", _VMI),
        _kind("k8s.cni.cncf.io", "v1alpha1", "IPAMClaim", _CLAIM),
        _kind("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", [_info("nad_info", {})]),
    ]
    return {"kind": "CustomResourceStateMetrics", "spec": {"resources": kinds}}


def _kind(group: str, version: str, kind: str, metrics: list[Any]) -> Any:
    return {
        "groupVersionKind": {"group": group, "version": version, "kind": kind},
        "labelsFromPath": _PLACE,
        "metrics": metrics,
    }


def _info(name: str, labels: dict[str, list[str]]) -> Any:
    return {"name": name, "help": name, "each": {"type": "Info", "info": {"labelsFromPath": labels}}}


def _conditions(name: str) -> Any:
    gauge = {"path": ["status", "conditions"], "labelsFromPath": {"type": ["type"]}, "valueFrom": ["status"]}
    return {"name": name, "help": name, "each": {"type": "Gauge", "gauge": gauge}}


_VM = [
    _info(
        "vm_info",
        {
            "status": ["status", "printableStatus"],
            "run_strategy": ["spec", "runStrategy"],
            "uuid": ["spec", "template", "spec", *_FIRMWARE],
        },
    ),
    _conditions("vm_condition"),
]
_VMI = [
    _info(
        "vmi_info",
        {
            "phase": ["status", "phase"],
            "node": ["status", "nodeName"],
            "evacuation": ["status", "evacuationNodeName"],
            "strategy": ["spec", "evictionStrategy"],
            "uuid": ["spec", *_FIRMWARE],
        },
    ),
    _conditions("vmi_condition"),
]
_CLAIM = [
    _info(
        "claim_info",
        {"network": ["spec", "network"], "ip": ["status", "ips", "0"], "vm": ["metadata", "labels", LABEL]},
    ),
    _conditions("claim_condition"),
]
