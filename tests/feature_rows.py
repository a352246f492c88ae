"""Rows of VMs and VMIs that ask for features, and of the KubeVirt object that allows them."""

from __future__ import annotations

import random
from typing import Any

Row = dict[str, Any]


VM, VMI = "VirtualMachine", "VirtualMachineInstance"


KUBEVIRT: Row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}


GPU: Row = {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/A100"}]}}


VSOCK: Row = {"devices": {"autoattachVSOCK": True}}


METRICS: Row = {"devices": {"downwardMetrics": {}}}


def vm(name: str = "db", **more: Any) -> Row:
    return {"kind": VM, "name": name, "uid": f"u-{name}", "runStrategy": "Halted"} | more


def vmi(name: str = "db", **more: Any) -> Row:
    return {"kind": VMI, "name": name, "vm": f"u-{name}", "phase": "Running", "node": "node01"} | more


def gpu_size(**more: Any) -> Row:
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}, "gpus": GPU["devices"]["gpus"]}
    return {"kind": "VirtualMachineClusterInstancetype", "name": "gpu1", "spec": spec} | more


def a_change(dice: random.Random) -> Row:
    """One of few objects, in one of few states, so that they meet."""
    pick = dice.choice
    name, made = pick(("a", "b", "c")), dice.randrange(9)
    domain: Row = pick(({}, GPU, VSOCK, METRICS, GPU, {"machine": {"type": pick(("q35", "pc"))}}))
    if made == 0:
        versions = {"version": pick(("v1.5.0", "v1.7.0", "v1.9.0")), "phase": pick(("Deployed", "Deployed", ""))}
        return KUBEVIRT | {"name": pick(("kubevirt", "kubevirt", "second"))} | versions
    if made == 1:
        return gpu_size(spec=pick((gpu_size()["spec"], {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}})))
    if made == 2:
        kind = "VirtualMachineClusterPreference"
        tpm: Row = {"devices": {"preferredTPM": {"persistent": True}}}
        return {"kind": kind, "name": "p", "spec": pick((Row(), tpm))}
    if made == 3:
        meta: Row = {"name": pick(("gpu1", "other")), "uid": "t1", "generation": 1}
        of: Row = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype"}
        of |= {"metadata": meta, "spec": gpu_size()["spec"]}
        row: Row = {"kind": "ControllerRevision", "name": f"r-{name}", "vm": name, "owner": f"u-{name}"}
        return row | pick(({"of": of}, {"of": of}, {"data": {"spec": {}}}))
    if made in (4, 5):
        phase = pick(("Pending", "Scheduling", "Running", "Running", "Failed"))
        return vmi(name, domain=domain, phase=phase) | pick(({}, {"vm": "u-foreign"}, {"node": "node02"}))
    row = vm(name, domain=domain, deleting=dice.random() < 0.1)
    row |= pick(({}, {"instancetype": {"name": "gpu1"}}, {"instancetype": {"name": "gpu1"}, "domain": {}}))
    row |= pick(({}, {"preference": {"name": "p"}}))
    return row | pick(({}, {"instancetypeRef": f"r-{pick('abc')}"}))
