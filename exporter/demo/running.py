"""Builders for what exists of a virtual VM only while it runs: VMI, launcher pod, start revision."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_interface

from ..fakeapi.registry import timestamp
from ..fakeapi.resources import Obj
from .samples import CONTROLLER_FINALIZER, SampleVM, conditions, disk_info, owner, template, uid


def vmi_of(sample: SampleVM) -> Obj:
    started = sample.now - sample.up
    phases = [("Pending", 0), ("Scheduling", 1), ("Scheduled", 6), ("Running", 9)]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "name": sample.name,
            "namespace": sample.namespace,
            "uid": sample.uid("VirtualMachineInstance"),
            "creationTimestamp": timestamp(started),
            "generation": 9,
            "labels": {"kubevirt.io/nodeName": sample.node},
            "annotations": {"kubevirt.io/vm-generation": str(sample.vm_generation)},
            "finalizers": [CONTROLLER_FINALIZER, "kubevirt.io/foregroundDeleteVirtualMachine"],
            "ownerReferences": [owner("VirtualMachine", sample.name, sample.uid("VirtualMachine"))],
        },
        "spec": template(sample)["spec"],
        "status": {
            "phase": "Running",
            "nodeName": sample.node,
            "activePods": {sample.uid("Pod"): sample.node},
            "conditions": conditions(sample, timestamp(started + timedelta(seconds=9))),
            "interfaces": _interfaces(sample),
            "guestOSInfo": {},
            "launcherContainerImageVersion": "quay.io/kubevirt/virt-launcher:v1.7.0",
            "migrationMethod": "LiveMigration",
            "migrationTransport": "Unix",
            "phaseTransitionTimestamps": [
                {"phase": phase, "phaseTransitionTimestamp": timestamp(started + timedelta(seconds=after))}
                for phase, after in phases
            ],
            "qosClass": "Burstable",
            "virtualMachineRevisionName": sample.revision_name,
            "volumeStatus": [{"name": "root", "target": "vda", "persistentVolumeClaimInfo": disk_info()}],
        },
    }


def _interfaces(sample: SampleVM) -> list[Obj]:
    interfaces: list[Obj] = [
        {
            "name": "default",
            "ipAddress": _pod_ip(sample),
            "ipAddresses": [_pod_ip(sample)],
            "podInterfaceName": "eth0",
        }
    ]
    if sample.network:
        ips = [str(ip_interface(a).ip) for a in sample.addresses]
        interfaces.append({"name": sample.network.logical, "ipAddress": ips[0], "ipAddresses": ips, "mac": mac(sample)})
    return interfaces


def launcher(sample: SampleVM) -> Obj:
    started = timestamp(sample.now - sample.up + timedelta(seconds=2))
    node_number = int(sample.node[-2:])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": sample.launcher_name,
            "generateName": f"virt-launcher-{sample.name}-",
            "namespace": sample.namespace,
            "uid": sample.uid("Pod"),
            "creationTimestamp": started,
            "labels": {
                "kubevirt.io": "virt-launcher",
                "kubevirt.io/created-by": sample.uid("VirtualMachineInstance"),
                "kubevirt.io/nodeName": sample.node,
                "vm.kubevirt.io/name": sample.name,
            },
            "annotations": {"kubevirt.io/domain": sample.name} | network_annotations(sample),
            "ownerReferences": [owner("VirtualMachineInstance", sample.name, sample.uid("VirtualMachineInstance"))],
        },
        "spec": {
            "nodeName": sample.node,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "compute",
                    "image": "quay.io/kubevirt/virt-launcher:v1.7.0",
                    "resources": {"requests": {"cpu": "200m", "memory": _with_overhead(sample.memory)}},
                }
            ],
            "readinessGates": [{"conditionType": "kubevirt.io/virtual-machine-unpaused"}],
        },
        "status": {
            "phase": "Running",
            "podIP": _pod_ip(sample),
            "podIPs": [{"ip": _pod_ip(sample)}],
            "hostIP": f"10.0.0.{node_number}",
            "startTime": started,
            "qosClass": "Burstable",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": started}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
        },
    }


def _with_overhead(memory: str) -> str:
    return f"{int(memory.removesuffix('Gi')) * 1024 + 270}Mi"


def network_annotations(sample: SampleVM) -> dict[str, str]:
    """What Multus and OVN-Kubernetes write on a launcher pod; `default` is the pod network."""
    pod_address = f"{_pod_ip(sample)}/24"
    given: Obj = {"default": {"ip_addresses": [pod_address], "ip_address": pod_address, "role": "primary"}}
    status: list[Obj] = [
        {"name": "ovn-kubernetes", "interface": "eth0", "ips": [_pod_ip(sample)], "default": True, "dns": {}}
    ]
    annotations = {}
    if sample.network:
        network = sample.network
        interface = "pod" + hashlib.sha256(network.logical.encode()).hexdigest()[:11]
        element = {"name": network.nad, "namespace": network.namespace, "interface": interface}
        annotations["k8s.v1.cni.cncf.io/networks"] = _json([element | {"ipam-claim-reference": sample.claim_name}])
        given[network.key] = {"ip_addresses": list(sample.addresses), "mac_address": mac(sample), "role": "secondary"}
        if len(sample.addresses) == 1:
            given[network.key]["ip_address"] = sample.addresses[0]
        ips = [str(ip_interface(address).ip) for address in sample.addresses]
        status.append({"name": network.key, "interface": interface, "ips": ips, "mac": mac(sample), "dns": {}})
    annotations["k8s.ovn.org/pod-networks"] = _json(given)
    annotations["k8s.v1.cni.cncf.io/network-status"] = _json(status)
    return annotations


def plain_pod(sample: SampleVM, name: str, node: str) -> Obj:
    """A pod that is no VM's, on a VM's network, holding that VM's addresses."""
    pod = launcher(replace(sample, node=node))
    meta = pod["metadata"]
    annotations = {k: v for k, v in meta["annotations"].items() if k.startswith("k8s.")}
    elements = json.loads(annotations["k8s.v1.cni.cncf.io/networks"])
    plain = [{k: v for k, v in element.items() if k != "ipam-claim-reference"} for element in elements]
    annotations["k8s.v1.cni.cncf.io/networks"] = _json(plain)
    pod["metadata"] = {
        "name": name,
        "namespace": sample.namespace,
        "uid": uid("Pod", sample.namespace, name),
        "creationTimestamp": meta["creationTimestamp"],
        "labels": {"run": name},
        "annotations": annotations,
    }
    image = "debug-shell:1"
    pod["spec"] = {"nodeName": node, "containers": [{"name": "shell", "image": image}]}
    return pod


def start_revision(sample: SampleVM) -> Obj:
    """The spec that the running VMI was started from."""
    vm_uid = sample.uid("VirtualMachine")
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": sample.revision_name,
            "namespace": sample.namespace,
            "uid": sample.uid("ControllerRevision"),
            "creationTimestamp": timestamp(sample.now - sample.up),
            "ownerReferences": [owner("VirtualMachine", sample.name, vm_uid)],
        },
        "data": {"spec": {"runStrategy": "Always", "template": template(sample)}},
        "revision": sample.vm_generation,
    }


def mac(sample: SampleVM) -> str:
    """As OVN-Kubernetes makes it: from the first address."""
    address = ip_interface(sample.addresses[0]).ip
    return "0a:58:" + address.packed[:4].hex(":")


def _pod_ip(sample: SampleVM) -> str:
    return f"10.244.{int(sample.node[-2:] or 0)}.{10 + sample.number}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
