"""The objects that KubeVirt is installed with, as a person applies them, and the nodes.

The operator's CRD and roles are printed by KubeVirt's own generator; its Deployment is ours, cut down to what anybody
looks at: the process itself is started by the test.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tests.manifests import Loader, Object
from tests.tools.build import TOOLS

__all__ = ["ADDRESSES", "IMAGES", "NAMESPACE", "NODES", "OPERATOR_IMAGE", "VERSION", "node_of_vms", "objects"]

VERSION = f"v{TOOLS['virt-operator'].chosen}"
IMAGES = "example.com/kubevirt"  # nobody pulls from there: no pod runs
OPERATOR_IMAGE = f"{IMAGES}/virt-operator:{VERSION}"
NAMESPACE = "kubevirt"
NODES = ("node01", "node02", "node03")
CONTROL = "control01"  # where KubeVirt's own pods are, that insist on it; it has no VMs
CONTROL_ROLE = "node-role.kubernetes.io/control-plane"
# Where the processes listen, and what the stand-in for kubelets gives the pods that they are in place of.
ADDRESSES = {"virt-api": "10.244.255.1", "virt-operator": "10.244.255.2", "virt-controller": "10.244.255.3"}
MACHINE_TYPES = ("q35", "pc-q35-rhel9.6.0")
CPU_MODEL = "Skylake-Server"  # of all nodes


def objects(generator: Path) -> Iterator[Object]:
    """All that a person applies, in the order to create it."""
    yield from _generated(generator, "kv")
    labels = {"kubevirt.io": "", "pod-security.kubernetes.io/enforce": "privileged"}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    yield from _generated(generator, "priorityclass")
    yield from _generated(generator, "operator-rbac")
    yield from map(node_of_vms, NODES)
    yield _node(CONTROL, {CONTROL_ROLE: ""}, {"key": CONTROL_ROLE, "effect": "NoSchedule"})
    yield _operator_deployment()
    yield _kubevirt()


def _generated(generator: Path, kind: str) -> Iterator[Object]:
    command = [str(generator), f"--type={kind}", f"--namespace={NAMESPACE}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return (each for each in yaml.load_all(done.stdout, Loader=Loader) if each)  # a subclass of the safe one


def _operator_deployment() -> Object:
    labels = {"kubevirt.io": "virt-operator"}
    container = {
        "name": "virt-operator",
        "image": OPERATOR_IMAGE,
        "ports": [{"containerPort": 8443, "name": "metrics"}, {"containerPort": 8444, "name": "webhooks"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": NAMESPACE, "name": "virt-operator", "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "kubevirt-operator",
                    "nodeSelector": {CONTROL_ROLE: ""},
                    "tolerations": [{"key": CONTROL_ROLE, "operator": "Exists"}],
                    "containers": [container],
                },
            },
        },
    }


def _kubevirt() -> Object:
    """One process stands behind each pod, and the hundred VMI types that nobody asks for take 20 s to make."""
    settings = {
        "commonInstancetypesDeployment": {"enabled": False},
        "developerConfiguration": {"featureGates": ["Snapshot"]},
        "vmRolloutStrategy": "LiveUpdate",  # up to 1.5 the default is Stage (pkg/virt-config/virt-config.go)
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"namespace": NAMESPACE, "name": "kubevirt"},
        "spec": {"infra": {"replicas": 1}, "configuration": settings},
    }


def node_of_vms(name: str) -> Object:
    """With the labels that virt-handler gives a node where VMs can run, and without a status: see `Signs`."""
    types = {f"machine-type.node.kubevirt.io/{vm}": "true" for vm in MACHINE_TYPES}
    # By these KubeVirt finds where a VMI with the CPU model of its node can migrate to.
    models = {f"{kind}.node.kubevirt.io/{CPU_MODEL}": "true" for kind in ("host-model-cpu", "cpu-model-migration")}
    labels = {"node-role.kubernetes.io/worker": "", "kubevirt.io/schedulable": "true", **types, **models}
    return _node(name, labels)


def _node(name: str, labels: Mapping[str, str], *taints: Object) -> Object:
    own = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    meta = {"name": name, "labels": {**own, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": list(taints)}}
