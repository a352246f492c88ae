"""Clusters that one tenant, or one mistake, has made large in one direction: `n` of the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.rows import full

__all__ = ["SCENES", "SHARED_UUID", "crowd", "slower"]

Row = dict[str, Any]

SHARED_UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"


_NOMINAL = 0.006  # seconds of CPU that `_pace` takes on the host that limits of turns are for


def slower() -> float:
    """How many times as long as on that host work of the kind that an evaluation is takes on this one now: a slow or
    busy one has as much more time.
    """
    return max(1.0, min(_pace() for _ in range(5)) / _NOMINAL)


def _pace() -> float:
    began = time.thread_time()
    texts = [f"namespace-{number % 100}/vm-{number}" for number in range(10_000)]
    pairs = sorted((text.partition("/")[2], text) for text in texts)
    assert len(dict(pairs)) == len(texts)
    return time.thread_time() - began


def _nad(**more: Any) -> Row:
    return {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"} | more


def _claim(**more: Any) -> Row:
    named = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "v1", "network": "tenantblue"}
    return named | {"ips": ["10.0.0.5/16"]} | more


def _vm(**more: Any) -> Row:
    return {"kind": "VirtualMachine", "name": "db", "uid": "v1"} | more


def _vmi(**more: Any) -> Row:
    return {"kind": "VirtualMachineInstance", "name": "db", "uid": "i1", "vm": "v1", "node": "node01"} | more


def _pod(**more: Any) -> Row:
    return {"kind": "Pod", "name": "pod-0", "domain": "db", "vmi": "i1", "node": "node01"} | more


def _address(n: int) -> str:
    return f"10.{n >> 14 & 255}.{n >> 6 & 255}.{n % 64 * 4}"


def _excludes(n: int) -> list[Row]:
    texts = ",".join(f"{_address(each)}/32" for each in range(1, n))
    return [_nad(subnets="10.0.0.0/8", config={"excludeSubnets": texts, "role": "primary"})]


def _subnets_and_excludes(n: int) -> list[Row]:
    subnets = ",".join(f"{_address(each)}/30" for each in range(1, n))
    excludes = ",".join(f"{_address(each)}/32" for each in range(1, n))
    reserved = ",".join(f"{_address(each)[:-1]}1/32" for each in range(1, n) if _address(each).endswith(".0"))
    return [_nad(subnets=subnets, config={"excludeSubnets": excludes, "reservedSubnets": reserved}), _claim()]


def _claims_in_subnets(n: int) -> list[Row]:
    subnets = ",".join(f"{_address(each)}/30" for each in range(1, n))
    held = [_claim(name=f"vm-{each}.blue", vm=f"vm-{each}", ips=[f"10.0.0.{each % 250}/16"]) for each in range(n)]
    return [_nad(subnets=subnets), *held]


def _nads_of_one_network(n: int) -> list[Row]:
    return [_nad(namespace=f"ns-{each}", config={"mtu": 1000 + each}) for each in range(n)]


def _primaries_of_one_namespace(n: int) -> list[Row]:
    return [_nad(name=f"nad-{each}", network=f"net-{each}", config={"role": "primary"}) for each in range(n)]


def _ips_of_one_claim(n: int) -> list[Row]:
    held = [f"{_address(each)}/8" for each in range(1, n)]
    running = [_vmi(networks={"blue": "blue"}), _vm(networks={"blue": "blue"})]
    pods = [_pod(claims=["db.blue"], addresses={"ns/blue": ["10.0.0.9/8"]})]
    return [_nad(subnets="10.0.0.0/16"), _claim(ips=held), _claim(name="eb.blue", vm="eb", ips=held), *running, *pods]


def _claims_of_one_vm(n: int) -> list[Row]:
    held = [_claim(name=f"db.blue-{each}", ips=[f"10.0.{each >> 8}.{each & 255}/16"]) for each in range(n)]
    return [_nad(), _vm(networks={"blue": "blue"}), *held]


def _leftover_claims_and_pods(n: int) -> list[Row]:
    held = [_claim(name=f"vm-{each}.blue", vm=f"vm-{each}", ips=[f"{_address(each)}/8"]) for each in range(n)]
    given = [{"ns/blue": [f"{_address(n + each)}/8"]} for each in range(n)]
    pods = [_pod(name=f"pod-{each}", domain=f"p{each}", addresses=given[each]) for each in range(n)]
    return [_nad(subnets="10.0.0.0/8"), *held, *pods]


def _primaries_and_vms_of_one_namespace(n: int) -> list[Row]:
    vms = [_vm(name=f"vm-{each}", uid=f"v{each}", networks={"default": "pod"}) for each in range(n)]
    return [*vms, *_primaries_of_one_namespace(n)]


def _claims_of_one_address(n: int) -> list[Row]:
    return [_nad(), *(_claim(name=f"vm-{each}.blue", vm=f"vm-{each}") for each in range(n))]


def _pods_of_one_vmi(n: int) -> list[Row]:
    pods = [
        _pod(name=f"pod-{each}", uid=f"p{each}", claims=["db.blue"], addresses={"ns/blue": ["10.0.0.5/16"]})
        for each in range(n)
    ]
    return [_cordoned(), _nad(), _claim(), _vm(networks={"blue": "blue"}), _asked(), *pods]


def _interfaces_of_one_vm(n: int) -> list[Row]:
    networks = {f"net-{each}": "blue" for each in range(n)}
    return [_nad(), _vm(networks=networks), _vmi(networks=networks)]


def _interfaces_of_one_claim_name(n: int) -> list[Row]:
    networks = {"-_" * each + "x": "blue" for each in range(1, n)}
    return [_nad(), _vm(networks=networks), _vmi(networks=networks)]


def _finalizers_of_one_claim(n: int) -> list[Row]:
    return [_claim(deleting=True, finalizers=[f"example.org/{each}" for each in range(n)])]


def _requests_of_one_vmi(n: int) -> list[Row]:
    asked = {"default": [_address(each) for each in range(n)]}
    return [
        _nad(name="main", network="main", config={"role": "primary"}),
        _vmi(networks={"default": "pod"}, requested=asked),
        _claim(name="db.default", network="main"),
    ]


def _uuids(n: int) -> list[Row]:
    return [_vm(name=f"vm-{each}", uid=f"v{each}", uuid=SHARED_UUID, serial="s1") for each in range(n)]


def _cordoned(**more: Any) -> Row:
    return {"kind": "Node", "name": "node01", "cordoned": True, "taints": ["kubevirt.io/drain:NoSchedule"]} | more


def _asked(**more: Any) -> Row:
    return _vmi(evacuation="node01", migratable=True, strategy="LiveMigrate", networks={"blue": "blue"}) | more


def _vmis_on_one_node(n: int) -> list[Row]:
    vmis = [_asked(name=f"vm-{each}", uid=f"i{each}") for each in range(n)]
    pods = [_pod(name=f"pod-{each}", uid=f"p{each}", domain=f"vm-{each}", vmi=f"i{each}") for each in range(n)]
    return [_cordoned(), *vmis, *pods]


def _migrations_of_one_vmi(n: int) -> list[Row]:
    made = [
        {"kind": "VirtualMachineInstanceMigration", "name": f"m-{each}", "vmi": "db", "phase": "Failed"}
        | {"uid": f"m{each}", "evacuates": "node01"}
        for each in range(n)
    ]
    return [_cordoned(), _asked(), _pod(), *made]


def _maintenances_of_one_node(n: int) -> list[Row]:
    made = [{"kind": "NodeMaintenance", "name": f"m-{each}", "node": "node01"} for each in range(n)]
    return [_cordoned(), _asked(), _pod(), *made]


def _pdbs_and_vmis(n: int) -> list[Row]:
    vmis = [_asked(name=f"vm-{each}", uid=f"i{each}", strategy="None", evacuation=None) for each in range(n)]
    pods = [_pod(name=f"pod-{each}", uid=f"p{each}", domain=f"vm-{each}", vmi=f"i{each}") for each in range(n)]
    pdbs = [
        {"kind": "PodDisruptionBudget", "name": f"pdb-{each}", "selects": {"kubevirt.io": "virt-launcher"}}
        for each in range(n)
    ]
    return [_cordoned(), *vmis, *pods, *pdbs]


def _nodes_of_one_uuid(n: int) -> list[Row]:
    return [{"kind": "Node", "name": f"node-{each}", "systemUUID": SHARED_UUID} for each in range(n)]


def _pdbs_of_vmis(n: int) -> list[Row]:
    """As KubeVirt made them: each selects the pod of one VMI."""
    selecting = [
        {"kind": "PodDisruptionBudget", "name": f"pdb-{each}", "selects": {"kubevirt.io/created-by": f"i{each}"}}
        for each in range(n)
    ]
    return [row for row in _pdbs_and_vmis(n) if row["kind"] != "PodDisruptionBudget"] + selecting


def _endpoints(n: int) -> list[Row]:
    slices = [{"kind": "EndpointSlice", "name": f"slice-{each}", "ready": 0, "unready": 1} for each in range(n)]
    return [{"kind": "KubeVirt", "name": "kubevirt"}, *slices]


def _stacks(n: int) -> list[Row]:
    found: list[Row] = []
    for each in range(n):
        found += [
            {"kind": "Deployment", "name": "kubevirt-ipam-controller-manager", "namespace": f"ns-{each}", "ready": 0},
            {"kind": "Deployment", "name": "ovnkube-control-plane", "namespace": f"ns-{each}", "ready": 0},
            {"kind": "MutatingWebhookConfiguration", "name": f"hook-{each}", "webhook": "ipam-claims.k8s.cni.cncf.io"},
        ]
    return found


def _stacks_and_claims(n: int) -> list[Row]:
    return [*_stacks(n), *_claims_in_subnets(n)[1:]]


_SMALL = {"kind": "VirtualMachineClusterInstancetype", "name": "small", "uid": "t1", "generation": 2}
_SIZES = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}


def _copy(name: str = "rev", spec: Row | None = None) -> Row:
    of = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": _SMALL["kind"], "spec": _SIZES | (spec or {})}
    of["metadata"] = {"name": "small", "uid": "t1", "generation": 1}
    return {"kind": "ControllerRevision", "name": name, "vm": "db", "owner": "v1", "of": of}


def _sized(**more: Any) -> Row:
    return _vm(instancetype={"name": "small"}, runStrategy="Always") | more


def _vms_of_one_instancetype(n: int) -> list[Row]:
    return [_SMALL, *(_sized(name=f"vm-{each}", uid=f"v{each}") for each in range(n))]


def _vms_of_one_revision(n: int) -> list[Row]:
    vms = [_sized(name=f"vm-{each}", uid=f"v{each}", instancetypeRef="rev") for each in range(n)]
    return [_SMALL, _copy(), *vms]


def _revisions_of_one_vm(n: int) -> list[Row]:
    return [_SMALL, _sized(instancetypeRef="rev-0"), *(_copy(f"rev-{each}") for each in range(n))]


def _fields_of_one_copy(n: int) -> list[Row]:
    many = {"x" * 1000: {f"annotation-{each}": {"y": "z" * 30} for each in range(10 * n)}}
    return [_SMALL, _copy("rev", many), _sized(instancetypeRef="rev")]


def _annotations_of_one_template(n: int) -> list[Row]:
    given = {f"example.org/{each}": "mine" for each in range(n)}
    theirs = _SMALL | {"spec": _SIZES | {"annotations": dict.fromkeys(given, "theirs")}}
    return [theirs, _sized(templateAnnotations=given)]


def _letters_of_one_matcher(n: int) -> list[Row]:
    long = "x" * 100 * n
    pinned = {"name": long, "kind": long, "revisionName": long}
    vms = [_sized(name=f"vm-{each}", uid=f"v{each}") for each in range(4)]
    vms[0] |= {"instancetype": {"name": long}, "preference": {"inferFromVolume": long}}
    vms[1] |= {"instancetype": {"name": long, "kind": long}, "preference": pinned}
    vms[2] |= {"instancetypeRef": {"name": long, "kind": long, "controllerRevisionRef": {"name": long}}}
    of = {"apiVersion": f"instancetype.kubevirt.io/{long}", "kind": long, "metadata": {"name": "small"}, "spec": long}
    revision = _copy() | {"of": of, "labels": _LABELS, "vm": long}
    vms[3] |= {"instancetypeRef": "rev"}
    orphan = revision | {"name": "orphan"}
    return [_SMALL, revision, orphan, *vms, {"kind": "VirtualMachinePool", "name": "p", "instancetype": {"name": long}}]


_LABELS = {"instancetype.kubevirt.io/object-name": "small"}


def _presets_of_one_vmi(n: int) -> list[Row]:
    notes = {f"virtualmachinepreset.kubevirt.io/preset-{each}": "kubevirt.io/v1" for each in range(n)}
    return [_vmi(annotations=notes)]


def _vms_that_no_node_is_for(n: int) -> list[Row]:
    asks = {"machine": {"type": "pc-q35-9.2"}, "devices": {"autoattachVSOCK": True}}
    nodes = [_node(f"node-{each}", "machine-type.node.kubevirt.io/q35") for each in range(n)]
    vms = [_vm(name=f"vm-{each}", uid=f"v{each}", domain=asks) for each in range(n)]
    return [{"kind": "KubeVirt", "name": "kubevirt", "version": "v1.8.4", "gates": ["VSOCK"]}, *nodes, *vms]


def _node(name: str, label: str) -> Row:
    return {"kind": "Node", "name": name, "labels": {"kubevirt.io/schedulable": "true", label: "true"}}


def _contents_of_one_vm(n: int) -> list[Row]:
    made = {"kind": "VirtualMachineSnapshotContent", "source": "db", "uuid": SHARED_UUID}
    return [_vm(), *(made | {"name": f"content-{each}", "snapshot": f"s{each}"} for each in range(n))]


def _pods_of_one_claim(n: int) -> list[Row]:
    given = {"claims": ["db.blue"], "addresses": {"ns/blue": ["10.0.0.5/16"]}}
    pods = [_pod(name=f"pod-{each}", vmi=f"i{each}", **given) for each in range(n)]
    return [_nad(subnets="10.0.0.0/8"), _vm(networks={"blue": "blue"}), _claim(), *pods]


def _claims_and_pods_of_one_vm(n: int) -> list[Row]:
    return [*_claims_of_one_vm(n), *(_pod(name=f"pod-{each}", vmi=f"i{each}") for each in range(n))]


SCENES: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    scene.__name__.removeprefix("_"): lambda n, scene=scene: [full(row) for row in scene(n)]  # type: ignore[misc]
    for scene in (
        _excludes,
        _subnets_and_excludes,
        _claims_in_subnets,
        _nads_of_one_network,
        _primaries_of_one_namespace,
        _ips_of_one_claim,
        _claims_of_one_vm,
        _leftover_claims_and_pods,
        _primaries_and_vms_of_one_namespace,
        _claims_of_one_address,
        _pods_of_one_vmi,
        _interfaces_of_one_vm,
        _interfaces_of_one_claim_name,
        _finalizers_of_one_claim,
        _requests_of_one_vmi,
        _uuids,
        _vmis_on_one_node,
        _migrations_of_one_vmi,
        _maintenances_of_one_node,
        _pdbs_and_vmis,
        _pdbs_of_vmis,
        _endpoints,
        _nodes_of_one_uuid,
        _stacks,
        _stacks_and_claims,
        _vms_of_one_instancetype,
        _vms_of_one_revision,
        _revisions_of_one_vm,
        _fields_of_one_copy,
        _annotations_of_one_template,
        _letters_of_one_matcher,
        _presets_of_one_vmi,
        _vms_that_no_node_is_for,
        _contents_of_one_vm,
        _pods_of_one_claim,
        _claims_and_pods_of_one_vm,
    )
}

_LARGEST = 1_500_000  # bytes of an object that etcd takes


def crowd(scene: str, size: int) -> list[Row]:
    """As many as that, or as many as one object can have."""
    while max(len(json.dumps(each)) for each in SCENES[scene](size)) > _LARGEST:
        size //= 2
    return SCENES[scene](size)
