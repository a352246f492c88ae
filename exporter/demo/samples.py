"""Builders for a virtual VM and what it keeps when it is stopped: its disk and its IPAMClaim.

Plain functions from a `VM` to objects, shaped as KubeVirt 1.7, ipam-extensions and
OVN-Kubernetes write them. What names or counts something (uids, MACs, pod names) is worked
out from the VM's name, so a fleet looks the same each time; times hang on `now`.
"""

import re
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..fakeapi.registry import timestamp
from ..fakeapi.resources import Obj
from .networks import Network

FINALIZER = "kubevirt.io/persistent-ipam"
CONTROLLER_FINALIZER = "kubevirt.io/virtualMachineControllerFinalize"
_UIDS = uuid.UUID("5d0e6e3c-8f0b-4a54-9d6a-6b6f1f0a7c11")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleVM:
    """A virtual VM, as far as the fleet's VMs differ."""

    namespace: str
    name: str
    now: datetime
    node: str = ""
    """Where it runs; empty when it is stopped."""
    number: int = 0
    """Its place in the fleet, for the address on the pod network."""
    network: Network | None = None
    """A second interface, beside the one on the pod network."""
    addresses: tuple[str, ...] = ()
    """With the prefix of the subnet, as a claim has them."""
    age: timedelta = timedelta(days=30)
    up: timedelta = timedelta(hours=20)
    """How long it has been running, or stopped."""
    memory: str = "2Gi"
    windows: bool = False
    downward_metrics: bool = False
    generation: str = ""
    """Tells VMs apart that had the same name one after the other."""
    vm_generation: int = 1
    """How often its spec was written."""
    boot: str = ""
    """Tells one run of a VM from the next."""

    def uid(self, what: str) -> str:
        boot = self.boot if what in ("VirtualMachineInstance", "Pod", "ControllerRevision") else ""
        return uid(what, self.namespace, self.name, self.generation, boot)

    @property
    def running(self) -> bool:
        return bool(self.node)

    @property
    def launcher_name(self) -> str:
        return f"virt-launcher-{self.name}-{self.uid('Pod')[:5]}"

    @property
    def revision_name(self) -> str:
        return f"revision-start-vm-{self.uid('VirtualMachine')}-{self.vm_generation}"

    @property
    def claim_name(self) -> str:
        return compose_key(self.name, self.network.logical) if self.network else ""

    def stopped(self) -> "SampleVM":
        return replace(self, node="")


def uid(*parts: str) -> str:
    return str(uuid.uuid5(_UIDS, "/".join(parts)))


def compose_key(sample: str, logical_network: str) -> str:
    """The name that ipam-extensions gives to the claim of a VM's interface."""
    return ".".join(re.findall(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", f"{sample}.{logical_network}".lower()))[:253]


def owner(kind: str, name: str, owner_uid: str) -> Obj:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": kind,
        "name": name,
        "uid": owner_uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def virtual_machine(sample: SampleVM) -> Obj:
    born = sample.now - sample.age
    changed = timestamp(sample.now - sample.up)
    status: Obj = {
        "printableStatus": "Running" if sample.running else "Stopped",
        "runStrategy": "Always" if sample.running else "Halted",
        "desiredGeneration": sample.vm_generation,
        "observedGeneration": sample.vm_generation,
        "conditions": conditions(sample, changed),
        "volumeSnapshotStatuses": [{"name": "root", "enabled": True}],
    }
    if sample.running:
        status |= {"created": True, "ready": True}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": sample.name,
            "namespace": sample.namespace,
            "uid": sample.uid("VirtualMachine"),
            "creationTimestamp": timestamp(born),
            "generation": sample.vm_generation,
            "labels": {"app": re.sub(r"-\d+$", "", sample.name)},
            "finalizers": [CONTROLLER_FINALIZER],
        },
        "spec": {"runStrategy": status["runStrategy"], "template": template(sample)},
        "status": status,
    }


def claim(sample: SampleVM) -> Obj:
    """The IPAMClaim of a VM's second interface, filled when it first started."""
    if sample.network is None:
        raise ValueError(f"{sample.name} has no network that keeps addresses")
    born = sample.now - sample.age + timedelta(minutes=1)
    return {
        "apiVersion": "k8s.cni.cncf.io/v1alpha1",
        "kind": "IPAMClaim",
        "metadata": {
            "name": sample.claim_name,
            "namespace": sample.namespace,
            "uid": sample.uid("IPAMClaim"),
            "creationTimestamp": timestamp(born),
            "generation": 1,
            "labels": {"kubevirt.io/vm": sample.name},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner("VirtualMachine", sample.name, sample.uid("VirtualMachine"))],
        },
        "spec": {"network": sample.network.name, "interface": ""},
        "status": {
            "ips": list(sample.addresses),
            "ownerPod": {"name": f"virt-launcher-{sample.name}-{sample.uid('first Pod')[:5]}"},
            "conditions": [
                {
                    "type": "IPsAllocated",
                    "status": "True",
                    "reason": "SuccessfulAllocation",
                    "message": "IP addresses successfully allocated",
                    "observedGeneration": 1,
                    "lastTransitionTime": timestamp(born + timedelta(seconds=9)),
                }
            ],
        },
    }


def disk(sample: SampleVM) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": f"{sample.name}-root",
            "namespace": sample.namespace,
            "uid": sample.uid("PersistentVolumeClaim"),
            "creationTimestamp": timestamp(sample.now - sample.age),
        },
        "spec": disk_info()
        | {"resources": {"requests": {"storage": "30Gi"}}, "volumeName": f"pvc-{sample.uid('PersistentVolume')}"},
        "status": disk_info() | {"phase": "Bound", "capacity": {"storage": "30Gi"}},
    }


def template(sample: SampleVM) -> Obj:
    interfaces: list[Obj] = [{"name": "default", "masquerade": {}}]
    networks: list[Obj] = [{"name": "default", "pod": {}}]
    if sample.network:
        interfaces.append({"name": sample.network.logical, "bridge": {}})
        networks.append({"name": sample.network.logical, "multus": {"networkName": sample.network.key}})
    bus = "sata" if sample.windows else "virtio"
    devices: Obj = {"disks": [{"name": "root", "disk": {"bus": bus}}], "interfaces": interfaces}
    if sample.downward_metrics:
        devices["downwardMetrics"] = {}
    domain: Obj = {
        "cpu": {"cores": 2, "sockets": 1, "threads": 1},
        "devices": devices,
        "firmware": {"uuid": sample.uid("firmware"), "serial": sample.uid("serial")},
        "machine": {"type": "q35"},
        "memory": {"guest": sample.memory},
        "resources": {},
    }
    if sample.windows:
        domain["features"] = {"acpi": {}, "hyperv": {"relaxed": {}, "vapic": {}, "spinlocks": {"spinlocks": 8191}}}
    return {
        "metadata": {"labels": {"kubevirt.io/domain": sample.name}},
        "spec": {
            "architecture": "amd64",
            "domain": domain,
            "evictionStrategy": "LiveMigrate",
            "networks": networks,
            "terminationGracePeriodSeconds": 180,
            "volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": f"{sample.name}-root"}}],
        },
    }


def conditions(sample: SampleVM, since: str) -> list[Obj]:
    if not sample.running:
        ready = {"type": "Ready", "status": "False", "reason": "VMINotExists", "message": "VMI does not exist"}
        return [ready | {"lastProbeTime": since, "lastTransitionTime": since}]
    up: Obj = {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
    migratable = [{"type": t, "status": "True"} for t in ("LiveMigratable", "StorageLiveMigratable")]
    return [up, *({"lastProbeTime": None, "lastTransitionTime": None} | m for m in migratable)]


def disk_info() -> Obj:
    return {"accessModes": ["ReadWriteMany"], "volumeMode": "Block"}
