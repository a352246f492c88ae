"""What the records of one VM have in common is there once: a fleet's memory is mostly such texts and numbers."""

from __future__ import annotations

import json
from typing import Any

from exporter.store.decode import ObjectDecoder
from exporter.store.kinds import ipam_claim, pod, virtual_machine, virtual_machine_instance
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

SPEC = {
    "domain": {"firmware": {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223", "serial": "one-2"}, "cpu": {"cores": 2}},
    "volumes": [{"name": "root", "dataVolume": {"name": "one-root"}}],
}
CREATED = "2026-07-01T00:00:01Z"


def _record(kind: Any, name: str, uid: str, owner: dict[str, str] | None = None, **rest: Any) -> Any:
    meta = {"name": name, "namespace": "ns", "uid": uid, "creationTimestamp": CREATED, **rest.pop("metadata", {})}
    if owner is not None:
        meta["ownerReferences"] = [{"apiVersion": "kubevirt.io/v1", "controller": True, **owner}]
    found = ObjectDecoder(kind).object(json.dumps({"metadata": meta, **rest}).encode())
    assert not found.why
    return found.record


def test_the_records_of_a_vm_share_what_they_have_in_common() -> None:
    of_vm = {"kind": "VirtualMachine", "name": "one", "uid": "uid-vm-1"}
    vm: VirtualMachine = _record(virtual_machine.KIND, "one", "uid-vm-1", spec={"template": {"spec": SPEC}})
    vmi: VirtualMachineInstance = _record(virtual_machine_instance.KIND, "one", "uid-vmi-1", of_vm, spec=SPEC)
    asked = json.dumps([{"name": "blue", "ipam-claim-reference": "one.blue"}])
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "uid-vmi-1"}
    notes = {"kubevirt.io/domain": "one", "k8s.v1.cni.cncf.io/networks": asked}
    launcher: Pod = _record(pod.KIND, "launcher", "uid-pod-1", metadata={"labels": labels, "annotations": notes})
    more = {"labels": {"kubevirt.io/vm": "one"}, "finalizers": [ipam_claim.FINALIZER]}
    claim: IPAMClaim = _record(ipam_claim.KIND, "one.blue", "uid-claim-1", of_vm, metadata=more)
    other: IPAMClaim = _record(ipam_claim.KIND, "two.blue", "uid-claim-2", metadata=more)

    for shared in (
        (vm.name, vmi.name, launcher.domain, claim.vm, claim.owners[0].name),
        (vm.uid, vmi.vm_uid, claim.owners[0].uid),
        (vmi.uid, launcher.vmi_uid),
        (vm.uuid, vm.identity, vmi.uuid, vmi.identity),
        (vm.serial, vmi.serial),
        (vm.pvc_names, vmi.pvc_names),
        (claim.name, launcher.known_selections[0][1]),
        (vm.created, vmi.created, launcher.created, claim.created),
        (vm.demand, vmi.demand),
        (vm.hardware, vmi.hardware),
        (vm.asks, vmi.asks),
        (claim.finalizers, other.finalizers),
        (claim.prefixes, other.prefixes),
    ):
        assert shared[0] or shared[0] == ()
        assert {id(each) for each in shared} == {id(shared[0])}
