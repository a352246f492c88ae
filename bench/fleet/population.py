"""A fleet of a given size as its cluster has it: for each VM the VMI, launcher pod, IPAMClaim and ControllerRevisions.

A hundred VMs to a namespace with a network of its own, fifty to a node. Of a thousand VMs one has an IPAMClaim without
its label, and one the firmware UUID of another VM; all else is well. Everything has managedFields. A set without
ControllerRevisions is about 25 kB. Left out are PersistentVolumeClaims, which none of those that are measured watches,
and PersistentVolumes, which the steward does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from bench.fleet.launcher import furnish, furnish_vm, furnish_vmi
from bench.fleet.managed import managed
from bench.fleet.node_labels import labels
from demo.apiserver.registry import timestamp
from demo.apiserver.resources import Obj
from demo.fleet.faulty_instancetypes import offered
from demo.fleet.networks import SampleNetwork, ground, nad, namespace, node
from demo.fleet.samples import SampleVM, complete

__all__ = ["Fleet"]

_PER_NAMESPACE, _PER_NODE, _FAULTY = 100, 50, 1000
_WRITERS = {
    "Pod": ("virt-controller", "kubelet"),
    "VirtualMachine": ("kubectl-create", "virt-controller"),
    "VirtualMachineInstance": ("virt-controller", "virt-handler"),
    "IPAMClaim": ("kubevirt-ipam-controller", "ovnkube"),
    "Node": ("kubelet", "kubelet"),
}
_NODE_INFO = {
    "containerRuntimeVersion": "cri-o://1.33.2",
    "kernelVersion": "5.14.0-570.el9.x86_64",
    "kubeProxyVersion": "v1.33.2",
    "osImage": "Red Hat Enterprise Linux CoreOS 9.6",
}


def _readdressed(obj: Obj, number: int) -> Obj:
    """With an address of its own on the pod network: those of the sample fleet are enough for a hundred nodes."""
    if obj["kind"] not in ("Pod", "VirtualMachineInstance"):
        return obj
    on = number // _PER_NODE
    made: Obj = json.loads(json.dumps(obj).replace(f"10.244.{on % 100}.", f"10.{128 + (on >> 8)}.{on & 255}."))
    return made


def _resize(obj: Obj, number: int) -> None:
    """Has it ask for an amount of memory of its own."""
    if obj["kind"] == "Pod":
        obj["spec"]["containers"][0]["resources"]["requests"]["memory"] = f"{2304 + number}Mi"
    elif obj["kind"] in ("VirtualMachine", "VirtualMachineInstance"):
        spec = obj["spec"]["template"]["spec"] if obj["kind"] == "VirtualMachine" else obj["spec"]
        spec["domain"]["memory"] = {"guest": f"{2048 + number}Mi"}


@dataclass(frozen=True)
class Fleet:
    vms: int
    now: datetime
    revisions: bool = False  # the three of each VM
    unlike: bool = False  # each VM asks for another amount of memory, where those of most fleets have a few sizes

    def objects(self) -> Iterator[Obj]:
        """All of them, with managedFields; cluster-wide ones and networks first."""
        yield from self.around()
        yield from self.vms_of(range(self.vms))

    def around(self) -> Iterator[Obj]:
        """What is not of one VM."""
        yield from map(self._written, (*self._ground(), *self._places()))

    def vms_of(self, numbers: Iterable[int]) -> Iterator[Obj]:
        """The objects of these VMs."""
        for number in numbers:
            yield from map(self._written, self.of(number))

    def of(self, number: int) -> list[Obj]:
        """The objects of one VM, the VirtualMachine first."""
        sample = self._sample(number)
        kept = (each for each in complete(sample) if each["kind"] != "PersistentVolumeClaim")
        made = [_readdressed(each, number) for each in kept]
        for obj in made:
            if obj["kind"] == "Pod":
                furnish(obj, sample.name, sample.uid("VirtualMachineInstance"))
            elif obj["kind"] == "VirtualMachine":
                furnish_vm(obj)
            elif obj["kind"] == "VirtualMachineInstance":
                furnish_vmi(obj)
            elif obj["kind"] == "IPAMClaim" and number % _FAULTY == 7:
                del obj["metadata"]["labels"]
            if self.unlike:
                _resize(obj, number)
        return [each for each in made if self.revisions or each["kind"] != "ControllerRevision"]

    def node(self, number: int) -> Obj:
        made = node(self._node(number * _PER_NODE), self._born, timestamp(self.now - timedelta(days=12)))
        made["status"]["conditions"] += [
            {
                "type": f"{kind}Pressure",
                "status": "False",
                "reason": f"KubeletHas{reason}",
                "lastHeartbeatTime": self._beat,
            }
            for kind, reason in (("Memory", "SufficientMemory"), ("Disk", "NoDiskPressure"), ("PID", "SufficientPID"))
        ]
        made["metadata"]["labels"] |= labels()
        made["metadata"]["annotations"] = {"kubevirt.io/heartbeat": self._beat}
        own = f"6a0d6f9e-5f43-4c8e-9a7c-{number:012}"
        ids = {"bootID": own[::-1], "machineID": own.replace("-", ""), "systemUUID": own}
        made["status"]["nodeInfo"] |= _NODE_INFO | ids
        return made

    @property
    def nodes(self) -> int:
        return -(-self.vms // _PER_NODE)

    def _sample(self, number: int) -> SampleVM:
        network, host = self._network(number // _PER_NAMESPACE), number % _PER_NAMESPACE + 10
        kept = self._kept if self.revisions else {}
        shared = number % _FAULTY == 507
        return SampleVM(
            namespace=network.namespace,
            name=f"vm-{number}",
            now=self.now,
            node=self._node(number),
            number=number % _PER_NODE,
            network=network,
            addresses=(f"{network.subnets[0].removesuffix('.0/24')}.{host}/24",),
            firmware={"uuid": self._sample(number - 1).uid("firmware")} if shared else {},
            instancetype=kept.get("u1.large"),
            preference=kept.get("windows.11"),
        )

    @cached_property
    def _kept(self) -> dict[str, Obj]:
        return offered(self.now)

    @property
    def _born(self) -> str:
        return timestamp(self.now - timedelta(days=200))

    @property
    def _beat(self) -> str:
        return timestamp(self.now)

    def _network(self, number: int) -> SampleNetwork:
        name = f"tenant-{number}"
        return SampleNetwork(
            name, "blue", f"{name}-blue", "blue", (f"10.{number >> 8}.{number & 255}.0/24",), number + 20
        )

    def _node(self, number: int) -> str:
        return f"node-{number // _PER_NODE:04}"

    def _ground(self) -> Iterator[Obj]:
        """KubeVirt and the networks' controllers, as in the sample fleet."""
        kinds = ("KubeVirt", "Deployment", "EndpointSlice", "MutatingWebhookConfiguration")
        for obj in (each for each in ground(self.now) if each["kind"] in kinds):
            if obj["kind"] == "KubeVirt":
                obj["spec"]["configuration"]["developerConfiguration"]["featureGates"].remove("VSock")  # it is no gate
            yield obj
        for name in ("default", "kube-system", "kubevirt"):
            yield namespace(name, self._born)
        if self.revisions:
            yield from (each for each in self._kept.values() if not each["metadata"].get("namespace"))

    def _places(self) -> Iterator[Obj]:
        for number in range(self.nodes):
            yield self.node(number)
        for number in range(-(-self.vms // _PER_NAMESPACE)):
            network = self._network(number)
            yield namespace(network.namespace, self._born)
            yield nad(network, self._born)

    def _written(self, obj: Obj) -> Obj:
        spec_by, status_by = _WRITERS.get(obj["kind"], ("kubectl-create", "kube-controller-manager"))
        time = obj["metadata"].setdefault("creationTimestamp", self._born)
        obj["metadata"]["managedFields"] = managed(obj, spec_by, status_by, time)
        return obj
