"""A VM of the sample fleet, and everything that exists of it, running or stopped.

What names or counts something (uids, MACs, pod names) is worked out from the VM's name, so a fleet
looks the same each time; times hang on `now`.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from ipaddress import ip_interface

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj
from . import instancetypes, objects, pods
from .networks import SampleNetwork
from .objects import FINALIZERS, condition, new, owner

_UIDS = uuid.UUID("5d0e6e3c-8f0b-4a54-9d6a-6b6f1f0a7c11")
_IMAGE = "quay.io/kubevirt/virt-launcher:v1.7.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleVM:
    """As far as the fleet's VMs differ."""

    namespace: str
    name: str
    now: datetime
    node: str = ""
    """Where it runs; empty when it is stopped."""
    number: int = 0
    """Its place in the fleet, for the address on the pod network."""
    network: SampleNetwork | None = None
    """A second interface, beside the one on the pod network."""
    addresses: tuple[str, ...] = ()
    """With the prefix of the subnet, as a claim has them."""
    age: timedelta = timedelta(days=30)
    up: timedelta = timedelta(hours=20)
    """How long it has been running, or stopped."""
    memory: str = "2Gi"
    strategy: str = "LiveMigrate"
    firmware: Mapping[str, str] = field(default_factory=dict)
    """What differs from a UUID and a serial of its own."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of its VMI, and hence of its launcher pod."""
    hindrance: str = ""
    """Why its disks keep it from being migrated."""
    windows: bool = False
    downward_metrics: bool = False
    instancetype: Obj | None = None
    """What gives it CPUs and memory, of which it then has a copy."""
    preference: Obj | None = None
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
    def revision_name(self) -> str:
        return f"revision-start-vm-{self.uid('VirtualMachine')}-{self.vm_generation}"

    @property
    def claim_name(self) -> str:
        return compose_key(self.name, self.network.logical) if self.network else ""

    @property
    def storage(self) -> Obj:
        """What its PVC and its VMI say of its disk, which no other node can use where that is what hinders it."""
        return {"accessModes": ["ReadWriteOnce" if "PVC" in self.hindrance else "ReadWriteMany"], "volumeMode": "Block"}

    @property
    def owner(self) -> Obj:
        """The reference to the VM, of what it owns."""
        return owner("VirtualMachine", self.name, self.uid("VirtualMachine"))

    @property
    def born(self) -> str:
        return timestamp(self.now - self.age)

    def after_start(self, seconds: float = 0) -> str:
        return timestamp(self.now - self.up + timedelta(seconds=seconds))

    def stopped(self) -> "SampleVM":
        return replace(self, node="")


def uid(*parts: str) -> str:
    return str(uuid.uuid5(_UIDS, "/".join(parts)))


def compose_key(vm: str, logical_network: str) -> str:
    """The name that ipam-extensions gives to the claim of a VM's interface."""
    return ".".join(re.findall(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", f"{vm}.{logical_network}".lower()))[:253]


def complete(sample: SampleVM) -> list[Obj]:
    """Everything that exists of it, the VirtualMachine first."""
    made = [virtual_machine(sample), disk(sample)]
    if sample.network:
        made.append(claim(sample))
    return [*made, *(while_running(sample) if sample.running else ()), *copies(sample)]


def while_running(sample: SampleVM) -> list[Obj]:
    """What exists only while it runs."""
    return [vmi(sample), launcher(sample), start_revision(sample)]


def virtual_machine(sample: SampleVM) -> Obj:
    on = sample.running
    strategy = "Always" if on else "Halted"
    status: Obj = {
        "printableStatus": "Running" if on else "Stopped",
        "runStrategy": strategy,
        "desiredGeneration": sample.vm_generation,
        "observedGeneration": sample.vm_generation,
        "conditions": _conditions(sample, sample.after_start()),
        "volumeSnapshotStatuses": [{"name": "root", "enabled": True}],
    }
    vm = objects.vm(
        sample.namespace,
        sample.name,
        _spec(sample),
        run_strategy=strategy,
        labels_of_vmi={"kubevirt.io/domain": sample.name, **sample.labels},
        status=status | ({"created": True, "ready": True} if on else {}),
        uid=sample.uid("VirtualMachine"),
        created=sample.born,
        generation=sample.vm_generation,
        labels={"app": re.sub(r"-\d+$", "", sample.name)},
        finalizers=FINALIZERS["VirtualMachine"],
    )
    for role, obj in _kept(sample).items():
        instancetypes.refer(vm, role, obj, instancetypes.copy_name(vm, obj))
    return vm


def copies(sample: SampleVM) -> list[Obj]:
    """The ControllerRevisions with its instancetype and its preference, running or stopped."""
    vm = virtual_machine(sample)
    born = timestamp(sample.now - sample.age + timedelta(seconds=1))
    return [
        instancetypes.copy(vm, obj, uid=sample.uid(f"copy of {role}"), created=born)
        for role, obj in _kept(sample).items()
    ]


def _kept(sample: SampleVM) -> dict[str, Obj]:
    by_role = {"instancetype": sample.instancetype, "preference": sample.preference}
    return {role: obj for role, obj in by_role.items() if obj is not None}


def _spec(sample: SampleVM) -> Obj:
    devices: Obj = {"disks": [{"name": "root", "disk": {"bus": "sata" if sample.windows else "virtio"}}]}
    if sample.downward_metrics:
        devices["downwardMetrics"] = {}
    own = {"cpu": {"cores": 2, "sockets": 1, "threads": 1}, "memory": {"guest": sample.memory}}
    domain: Obj = {
        "devices": devices,
        "firmware": {"uuid": sample.uid("firmware"), "serial": sample.uid("serial")} | dict(sample.firmware),
        "machine": {"type": "q35"},
        "resources": {},
        **({} if sample.instancetype else own),
    }
    if sample.windows:
        domain["features"] = {"acpi": {}, "hyperv": {"relaxed": {}, "vapic": {}, "spinlocks": {"spinlocks": 8191}}}
    return objects.vmi_spec(
        {"default": "pod"} | ({sample.network.logical: sample.network.key} if sample.network else {}),
        domain=domain,
        architecture="amd64",
        evictionStrategy=sample.strategy,
        terminationGracePeriodSeconds=180,
        volumes=[{"name": "root", "persistentVolumeClaim": {"claimName": f"{sample.name}-root"}}],
    )


def _conditions(sample: SampleVM, since: str) -> list[Obj]:
    if not sample.running:
        return [condition("Ready", False, since, reason="VMINotExists", message="VMI does not exist")]
    why = {"message": sample.hindrance} if sample.hindrance else {}
    of_disks = "PVC" in sample.hindrance
    able = objects.migratable("HostDeviceNotLiveMigratable" if why and not of_disks else not why, **why)
    return [condition("Ready", True, since), able, condition("StorageLiveMigratable", not of_disks)]


def disk(sample: SampleVM) -> Obj:
    volume = {"resources": {"requests": {"storage": "30Gi"}}, "volumeName": f"pvc-{sample.uid('PersistentVolume')}"}
    return new(
        "PersistentVolumeClaim",
        sample.namespace,
        f"{sample.name}-root",
        uid=sample.uid("PersistentVolumeClaim"),
        created=sample.born,
        spec=sample.storage | volume,
        status=sample.storage | {"phase": "Bound", "capacity": {"storage": "30Gi"}},
    )


def claim(sample: SampleVM) -> Obj:
    """The IPAMClaim of its second interface, filled when it first started."""
    if sample.network is None:
        raise ValueError(f"{sample.name} has no network that keeps addresses")
    allocated = condition("IPsAllocated", True, timestamp(sample.now - sample.age + timedelta(seconds=69)))
    return pods.claim(
        sample.namespace,
        sample.claim_name,
        sample.network.name,
        sample.addresses,
        vm=sample.name,
        conditions=[allocated | {"reason": "SuccessfulAllocation", "message": "IP addresses successfully allocated"}],
        status={"ownerPod": {"name": f"virt-launcher-{sample.name}-{sample.uid('first Pod')[:5]}"}},
        uid=sample.uid("IPAMClaim"),
        created=timestamp(sample.now - sample.age + timedelta(minutes=1)),
        generation=1,
        owners=[sample.owner],
    )


def vmi(sample: SampleVM) -> Obj:
    interfaces: list[Obj] = [{"name": "default", "ipAddresses": [_pod_ip(sample)], "podInterfaceName": "eth0"}]
    if sample.network:
        ips = [str(ip_interface(address).ip) for address in sample.addresses]
        interfaces.append({"name": sample.network.logical, "ipAddresses": ips, "mac": pods.mac(sample.addresses[0])})
    phases = {"Pending": 0, "Scheduling": 1, "Scheduled": 6, "Running": 9}
    spec = _spec(sample)
    return objects.vmi(
        sample.namespace,
        sample.name,
        instancetypes.sized(spec, sample.instancetype) if sample.instancetype else spec,
        node=sample.node,
        conditions=_conditions(sample, sample.after_start(9)),
        status={
            "activePods": {sample.uid("Pod"): sample.node},
            "interfaces": [each | {"ipAddress": each["ipAddresses"][0]} for each in interfaces],
            "guestOSInfo": {},
            "launcherContainerImageVersion": _IMAGE,
            "migrationMethod": "LiveMigration",
            "migrationTransport": "Unix",
            "phaseTransitionTimestamps": [
                {"phase": phase, "phaseTransitionTimestamp": sample.after_start(seconds)}
                for phase, seconds in phases.items()
            ],
            "qosClass": "Burstable",
            "virtualMachineRevisionName": sample.revision_name,
            "volumeStatus": [{"name": "root", "target": "vda", "persistentVolumeClaimInfo": sample.storage}],
        },
        uid=sample.uid("VirtualMachineInstance"),
        created=sample.after_start(),
        generation=9,
        labels={"kubevirt.io/nodeName": sample.node, **sample.labels},
        annotations={"kubevirt.io/vm-generation": str(sample.vm_generation)},
        finalizers=[*FINALIZERS["VirtualMachine"], *FINALIZERS["VirtualMachineInstance"]],
        owners=[sample.owner],
    )


def launcher(sample: SampleVM) -> Obj:
    base, made = f"virt-launcher-{sample.name}-", sample.after_start(2)
    own = sample.uid("Pod")
    address = _pod_ip(sample)
    requests = {"cpu": "200m", "memory": f"{int(sample.memory.removesuffix('Gi')) * 1024 + 270}Mi"}
    networks = [(sample.network.key, sample.claim_name)] if sample.network else []
    held = {sample.network.key: sample.addresses} if sample.network else {}
    return pods.launcher(
        sample.namespace,
        base + own[:5],
        sample.name,
        vmi_uid=sample.uid("VirtualMachineInstance"),
        node=sample.node,
        since=made,
        image=_IMAGE,
        requests=requests,
        spec={"restartPolicy": "Never", "readinessGates": [{"conditionType": "kubevirt.io/virtual-machine-unpaused"}]},
        status={
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": f"10.0.0.{int(sample.node[-2:])}",
            "startTime": made,
            "qosClass": "Burstable",
        },
        labels={"kubevirt.io/nodeName": sample.node, "vm.kubevirt.io/name": sample.name, **sample.labels},
        annotations=pods.attached(networks, held, f"{address}/24"),
        uid=own,
        created=made,
        owners=[owner("VirtualMachineInstance", sample.name, sample.uid("VirtualMachineInstance"))],
    )


def plain_pod(sample: SampleVM, name: str, node: str) -> Obj:
    """A pod that is no VM's, on a VM's network, holding that VM's addresses."""
    if sample.network is None:
        raise ValueError(f"{sample.name} has no network that keeps addresses")
    key, address = sample.network.key, _pod_ip(replace(sample, node=node))
    return pods.pod(
        sample.namespace,
        name,
        node=node,
        since=sample.after_start(2),
        image="debug-shell:1",
        status={"podIP": address, "podIPs": [{"ip": address}]},
        uid=uid("Pod", sample.namespace, name),
        created=sample.after_start(2),
        labels={"run": name},
        annotations=pods.attached([(key, None)], {key: sample.addresses}, f"{address}/24"),
    )


def start_revision(sample: SampleVM) -> Obj:
    """The spec that the running VMI was started from."""
    return new(
        "ControllerRevision",
        sample.namespace,
        sample.revision_name,
        uid=sample.uid("ControllerRevision"),
        created=sample.after_start(),
        owners=[sample.owner],
        data={"spec": instancetypes.pinned_spec(virtual_machine(sample))},
        revision=sample.vm_generation,
    )


def _pod_ip(sample: SampleVM) -> str:
    return f"10.244.{int(sample.node[-2:])}.{10 + sample.number}"
