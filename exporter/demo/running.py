"""Builders for what exists of a virtual machine only while it runs: VMI, launcher pod, start revision."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_interface

from .machines import CONTROLLER_FINALIZER, Machine, conditions, disk_info, owner, template, uid
from .registry import timestamp
from .resources import Obj


def instance(machine: Machine) -> Obj:
    started = machine.now - machine.up
    phases = [("Pending", 0), ("Scheduling", 1), ("Scheduled", 6), ("Running", 9)]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "name": machine.name,
            "namespace": machine.namespace,
            "uid": machine.uid("VirtualMachineInstance"),
            "creationTimestamp": timestamp(started),
            "generation": 9,
            "labels": {"kubevirt.io/nodeName": machine.node},
            "annotations": {"kubevirt.io/vm-generation": str(machine.vm_generation)},
            "finalizers": [CONTROLLER_FINALIZER, "kubevirt.io/foregroundDeleteVirtualMachine"],
            "ownerReferences": [owner("VirtualMachine", machine.name, machine.uid("VirtualMachine"))],
        },
        "spec": template(machine)["spec"],
        "status": {
            "phase": "Running",
            "nodeName": machine.node,
            "activePods": {machine.uid("Pod"): machine.node},
            "conditions": conditions(machine, timestamp(started + timedelta(seconds=9))),
            "interfaces": _interfaces(machine),
            "guestOSInfo": {},
            "launcherContainerImageVersion": "quay.io/kubevirt/virt-launcher:v1.7.0",
            "migrationMethod": "LiveMigration",
            "migrationTransport": "Unix",
            "phaseTransitionTimestamps": [
                {"phase": phase, "phaseTransitionTimestamp": timestamp(started + timedelta(seconds=after))}
                for phase, after in phases
            ],
            "qosClass": "Burstable",
            "virtualMachineRevisionName": machine.revision_name,
            "volumeStatus": [{"name": "root", "target": "vda", "persistentVolumeClaimInfo": disk_info()}],
        },
    }


def _interfaces(machine: Machine) -> list[Obj]:
    interfaces: list[Obj] = [
        {
            "name": "default",
            "ipAddress": _pod_ip(machine),
            "ipAddresses": [_pod_ip(machine)],
            "podInterfaceName": "eth0",
        }
    ]
    if machine.network:
        ips = [str(ip_interface(a).ip) for a in machine.addresses]
        interfaces.append(
            {"name": machine.network.logical, "ipAddress": ips[0], "ipAddresses": ips, "mac": mac(machine)}
        )
    return interfaces


def launcher(machine: Machine) -> Obj:
    started = timestamp(machine.now - machine.up + timedelta(seconds=2))
    node_number = int(machine.node[-2:])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": machine.launcher_name,
            "generateName": f"virt-launcher-{machine.name}-",
            "namespace": machine.namespace,
            "uid": machine.uid("Pod"),
            "creationTimestamp": started,
            "labels": {
                "kubevirt.io": "virt-launcher",
                "kubevirt.io/created-by": machine.uid("VirtualMachineInstance"),
                "kubevirt.io/nodeName": machine.node,
                "vm.kubevirt.io/name": machine.name,
            },
            "annotations": {"kubevirt.io/domain": machine.name} | network_annotations(machine),
            "ownerReferences": [owner("VirtualMachineInstance", machine.name, machine.uid("VirtualMachineInstance"))],
        },
        "spec": {
            "nodeName": machine.node,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "compute",
                    "image": "quay.io/kubevirt/virt-launcher:v1.7.0",
                    "resources": {"requests": {"cpu": "200m", "memory": _with_overhead(machine.memory)}},
                }
            ],
            "readinessGates": [{"conditionType": "kubevirt.io/virtual-machine-unpaused"}],
        },
        "status": {
            "phase": "Running",
            "podIP": _pod_ip(machine),
            "podIPs": [{"ip": _pod_ip(machine)}],
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


def network_annotations(machine: Machine) -> dict[str, str]:
    """What Multus and OVN-Kubernetes write on a launcher pod; `default` is the pod network."""
    pod_address = f"{_pod_ip(machine)}/24"
    given: Obj = {"default": {"ip_addresses": [pod_address], "ip_address": pod_address, "role": "primary"}}
    status: list[Obj] = [
        {"name": "ovn-kubernetes", "interface": "eth0", "ips": [_pod_ip(machine)], "default": True, "dns": {}}
    ]
    annotations = {}
    if machine.network:
        network = machine.network
        interface = "pod" + hashlib.sha256(network.logical.encode()).hexdigest()[:11]
        element = {"name": network.nad, "namespace": network.namespace, "interface": interface}
        annotations["k8s.v1.cni.cncf.io/networks"] = _json([element | {"ipam-claim-reference": machine.claim_name}])
        given[network.key] = {"ip_addresses": list(machine.addresses), "mac_address": mac(machine), "role": "secondary"}
        if len(machine.addresses) == 1:
            given[network.key]["ip_address"] = machine.addresses[0]
        ips = [str(ip_interface(address).ip) for address in machine.addresses]
        status.append({"name": network.key, "interface": interface, "ips": ips, "mac": mac(machine), "dns": {}})
    annotations["k8s.ovn.org/pod-networks"] = _json(given)
    annotations["k8s.v1.cni.cncf.io/network-status"] = _json(status)
    return annotations


def plain_pod(machine: Machine, name: str, node: str) -> Obj:
    """A pod that is no machine's, on a machine's network, holding that machine's addresses."""
    pod = launcher(replace(machine, node=node))
    meta = pod["metadata"]
    annotations = {k: v for k, v in meta["annotations"].items() if k.startswith("k8s.")}
    elements = json.loads(annotations["k8s.v1.cni.cncf.io/networks"])
    plain = [{k: v for k, v in element.items() if k != "ipam-claim-reference"} for element in elements]
    annotations["k8s.v1.cni.cncf.io/networks"] = _json(plain)
    pod["metadata"] = {
        "name": name,
        "namespace": machine.namespace,
        "uid": uid("Pod", machine.namespace, name),
        "creationTimestamp": meta["creationTimestamp"],
        "labels": {"run": name},
        "annotations": annotations,
    }
    image = "debug-shell:1"
    pod["spec"] = {"nodeName": node, "containers": [{"name": "shell", "image": image}]}
    return pod


def start_revision(machine: Machine) -> Obj:
    """The spec that the running instance was started from."""
    vm_uid = machine.uid("VirtualMachine")
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": machine.revision_name,
            "namespace": machine.namespace,
            "uid": machine.uid("ControllerRevision"),
            "creationTimestamp": timestamp(machine.now - machine.up),
            "ownerReferences": [owner("VirtualMachine", machine.name, vm_uid)],
        },
        "data": {"spec": {"runStrategy": "Always", "template": template(machine)}},
        "revision": machine.vm_generation,
    }


def mac(machine: Machine) -> str:
    """As OVN-Kubernetes makes it: from the first address."""
    address = ip_interface(machine.addresses[0]).ip
    return "0a:58:" + address.packed[:4].hex(":")


def _pod_ip(machine: Machine) -> str:
    return f"10.244.{int(machine.node[-2:] or 0)}.{10 + machine.number}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
