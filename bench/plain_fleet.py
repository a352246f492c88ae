"""VMs and their IPAMClaims as far as an evaluation reads them, for benchmarks without an API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["vms"]

_PER_NAMESPACE = 100


def vms(count: int) -> Iterator[dict[str, Any]]:
    """Healthy VMs with an IPAMClaim and a firmware UUID each, a hundred to a namespace."""
    for number in range(count):
        namespace, name = f"tenant-{number // _PER_NAMESPACE}", f"vm-{number}"
        uid = f"00000000-0000-4000-8000-{number:012d}"
        if number % _PER_NAMESPACE == 0:
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            yield _nad(namespace)
        yield _vm(namespace, name, uid)
        yield _claim(namespace, name, uid, number)


def _nad(namespace: str) -> dict[str, Any]:
    config = {
        "cniVersion": "1.0.0",
        "name": f"{namespace}_blue",
        "type": "ovn-k8s-cni-overlay",
        "topology": "layer2",
        "netAttachDefName": f"{namespace}/blue",
        "subnets": "10.0.0.0/8",
        "allowPersistentIPs": True,
    }
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"namespace": namespace, "name": "blue"},
        "spec": {"config": json.dumps(config)},
    }


def _vm(namespace: str, name: str, uid: str) -> dict[str, Any]:
    disks = [{"name": f"disk-{n}", "disk": {"bus": "virtio"}, "serial": f"{uid}-{n}"} for n in range(6)]
    volumes = [{"name": f"disk-{n}", "persistentVolumeClaim": {"claimName": f"{name}-{n}"}} for n in range(6)]
    labels = {f"example.org/label-{n}": f"{name}-{n}" for n in range(12)}
    template = {
        "metadata": {"labels": labels, "annotations": {"vm.kubevirt.io/os": "linux", "note": "x" * 900}},
        "spec": {
            "domain": {
                "devices": {"disks": disks, "interfaces": [{"name": "blue", "bridge": {}}]},
                "cpu": {"cores": 4},
                "firmware": {"uuid": f"1{uid[1:]}", "serial": f"2{uid[1:]}"},
            },
            "networks": [{"name": "blue", "multus": {"networkName": "blue"}}],
            "volumes": volumes,
        },
    }
    conditions = [
        {"type": t, "status": "True", "reason": "x" * 20, "message": "y" * 80} for t in ("Ready", "Live", "Up")
    ]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": namespace, "name": name, "uid": uid, "labels": labels},
        "spec": {"runStrategy": "Halted", "template": template},
        "status": {"conditions": conditions, "printableStatus": "Stopped"},
    }


def _claim(namespace: str, name: str, uid: str, number: int) -> dict[str, Any]:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name, "uid": uid, "controller": True}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1alpha1",
        "kind": "IPAMClaim",
        "metadata": {
            "namespace": namespace,
            "name": f"{name}.blue",
            "labels": {"kubevirt.io/vm": name},
            "finalizers": ["kubevirt.io/persistent-ipam"],
            "ownerReferences": [{**owner, "blockOwnerDeletion": True}],
        },
        "spec": {"network": f"{namespace}_blue", "interface": ""},
        "status": {"ips": [f"10.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}/8"]},
    }
