"""Which nodes could take one VM, by migration and by its next start, and what rules out the others."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.questions import vm
from exporter.store.source import SyncState

from ....drain_rows import Row, guest, node, volume
from ....one_vm import OneVMStage, obstacles, running

HOST = "kubernetes.io/hostname"
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
GPU = "example.org/gpu"


def on_two(other: Row, pod: Row | None = None, *rows: Row, **more: Any) -> OneVMStage:
    """One that runs on node01, beside node02."""
    home = node("node01", allocatable=ROOM | {GPU: "1"}, labels={HOST: "node01"})
    return OneVMStage(*running("a", pod, **more), *rows, nodes=[home, node("node02", **other)])


def placed(**spec: Any) -> Row:
    return {"placement": spec}


def apart(labels: dict[str, str]) -> Row:
    rule = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    kind = {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}
    return placed(affinity={"podAntiAffinity": kind}) | {"labels": {"kubevirt.io": "virt-launcher", "app": "a"}}


def near(labels: dict[str, str]) -> Row:
    rule = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    return placed(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}})


IN_ZONE_A = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    }
}
OTHER = guest("b", {"labels": {"kubevirt.io": "virt-launcher", "app": "b"}}, node="node02", networks={})
CPU = "cpu-feature.node.kubevirt.io/avx512"


@pytest.mark.parametrize(
    ("other", "pod", "rows", "kind", "what", "following"),
    [
        ({"taints": ["gpu:NoSchedule"]}, None, [], "Taint", "with taint gpu:NoSchedule", "Check why the nodes"),
        ({"cordoned": True}, None, [], "Cordoned", "cordoned", "Uncordon a node"),
        ({"ready": False}, None, [], "NotReady", "not Ready", "Bring back the nodes"),
        ({"deleting": True}, None, [], "Deleted", "being deleted", "add a node"),
        ({"labels": {"kubevirt.io/schedulable": "false"}}, None, [], "NotSchedulable",
         "without label kubevirt.io/schedulable=true", "virt-handler does not report"),
        ({}, placed(nodeSelector={"zone": "a"}), [], "Selector", "without label zone=a", "the VM's node selector"),
        ({}, placed(nodeSelector={CPU: "true"}), [], "CPU", f"without label {CPU}=true", "CPU model and features"),
        ({}, placed(affinity={"nodeAffinity": IN_ZONE_A}), [], "Affinity", "outside the node affinity",
         "Relax the VM's node selector"),
        ({}, {"requests": {GPU: "1"}}, [], "Device", f"offers no {GPU}", f"other nodes don't offer {GPU}"),
        ({}, {"requests": {"example.org/nic": "1"}}, [], "NoDevice", "offers no example.org/nic",
         "device plugin of example.org/nic checked"),
        ({"labels": {HOST: "node02"}}, apart({"kubevirt.io": "virt-launcher", "app": "b"}), OTHER, "AntiAffinity",
         "with pods that its anti-affinity keeps it apart from", "anti-affinity avoids"),
        ({"labels": {HOST: "node02"}}, near({"kubevirt.io": "virt-launcher", "app": "c"}), [], "PodAffinity",
         "without pods that its affinity asks for", "has to run near"),
        ({"allocatable": ROOM | {"memory": "512Mi"}}, None, [], "Resource",
         "lacks memory (needs 1 GiB, has 512 MiB free)", "Free memory on another node"),
    ],
)  # fmt: skip
def test_what_rules_a_node_out_and_what_to_do(
    other: Row, pod: Row | None, rows: list[Row], kind: str, what: str, following: str
) -> None:
    stage = on_two(other, pod, *rows)
    targets = stage.take().targets
    assert targets is not None
    assert obstacles(targets) == {"node02": [kind]}
    assert targets.nodes[0].obstacles[0].what == what
    assert (targets.fitting, targets.in_all, targets.none) == (0, 1, True)
    assert following in targets.next
    assert targets.commands
    assert "RESOURCE" not in targets.next
    assert vm.exit_code(stage.take()) == 1


def test_twins_one_that_can_move_and_one_that_can_not() -> None:
    taints = {"taints": ["gpu:NoSchedule"]}
    tolerant = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
    able = on_two(taints, placed(**tolerant), spec=tolerant).take()
    assert able.targets is not None
    assert (able.targets.fitting, obstacles(able.targets), able.targets.next) == (1, {"node02": []}, "")
    assert vm.exit_code(able) == 0
    unable = on_two(taints).take()
    assert obstacles(unable.targets) == {"node02": ["Taint"]}
    assert vm.exit_code(unable) == 1


def test_one_that_tolerates_a_cordon_is_not_ruled_out_by_it() -> None:
    key = "node.kubernetes.io/unschedulable"
    tolerant = placed(tolerations=[{"key": key, "operator": "Exists", "effect": "NoSchedule"}])
    assert obstacles(on_two({"cordoned": True}, tolerant).take().targets) == {"node02": []}


def test_of_very_many_nodes_the_first_are_named_and_those_that_could_take_it_before_the_others() -> None:
    nodes = [node("node01"), *(node(f"n{n:03}", cordoned=n < 240) for n in range(250))]
    targets = OneVMStage(*running(), nodes=nodes).take().targets
    assert targets is not None
    assert (targets.in_all, targets.fitting, len(targets.nodes), targets.left_out) == (250, 10, 200, 50)
    assert [each.answer for each in targets.nodes[:11]] == ["yes"] * 10 + ["no"]
    assert targets.ruled_out == ((240, "cordoned"),)


def test_all_that_rules_a_node_out_is_named_and_what_rules_out_most_comes_first() -> None:
    nodes = [
        node("node01"),
        node("node02", cordoned=True, taints=["gpu:NoSchedule"]),
        node("node03", taints=["gpu:NoSchedule"]),
        node("node04", taints=["gpu:NoSchedule"], allocatable=ROOM | {"memory": "1Mi"}),
    ]
    targets = OneVMStage(*running(), nodes=nodes).take().targets
    assert targets is not None
    assert obstacles(targets) == {"node02": ["Cordoned", "Taint"], "node03": ["Taint"], "node04": ["Taint", "Resource"]}
    assert targets.ruled_out == ((3, "with taint gpu:NoSchedule"), (1, "cordoned"), (1, "lacks memory"))
    assert targets.next == (
        "Check why the nodes have their taints. Let the VM tolerate one, or remove a taint that is no longer needed."
    )


def test_what_other_pods_ask_for_is_not_free_and_its_own_target_pod_takes_no_room_from_it() -> None:
    other: Row = {"kind": "Pod", "name": "big", "node": "node02", "requests": {"memory": "64Gi"}}
    assert obstacles(on_two({}, None, other).take().targets) == {"node02": ["Resource"]}
    own: Row = other | {"domain": "a", "vmi": "u-a", "migration": "uid-m"}
    assert obstacles(on_two({}, None, own).take().targets) == {"node02": []}


def test_a_node_that_says_nothing_of_its_room_is_not_known_to_lack_it() -> None:
    targets = on_two({"allocatable": {}}).take().targets
    assert targets is not None
    assert [(each.node, each.answer) for each in targets.nodes] == [("node02", "unknown")]
    assert not targets.none


def test_the_cpu_of_the_node_that_is_left_counts_for_a_host_model_and_the_vendor_for_all() -> None:
    home = node("node01", labels={"host-model-cpu.node.kubevirt.io/Icelake": "true"})
    nodes = [home, node("node02"), node("node03", labels={"cpu-model-migration.node.kubevirt.io/Icelake": "true"})]
    assert obstacles(OneVMStage(*running(), nodes=nodes).take().targets) == {"node03": [], "node02": []}
    found = OneVMStage(*running(cpu="host-model"), nodes=nodes).take().targets
    assert obstacles(found) == {"node03": [], "node02": ["CPU"]}

    vendor = {"cpu-vendor.node.kubevirt.io/Intel": "true"}
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.0"}
    nodes = [node("node01", labels=vendor), node("node02", labels=vendor), node("node03")]
    found = OneVMStage(*running(), kubevirt, nodes=nodes).take().targets
    assert obstacles(found) == {"node02": [], "node03": ["CPU"]}


def test_what_is_not_evaluated_is_said() -> None:
    spread = {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}]}
    targets = on_two({}, placed(**spread)).take().targets
    assert targets is not None
    assert (targets.fitting, targets.unless) == (1, "its topology spread constraints")


DISKS = {
    "volumes": [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "dataVolume": {"name": "root"}},
    ]
}


@pytest.mark.parametrize("pvc", ["data", "root"])
def test_a_node_without_access_to_a_volume_of_it_is_ruled_out(pvc: str) -> None:
    other = {"labels": {HOST: "node02"}}
    stage = on_two(other, None, volume(pvc, "node01"), spec=DISKS)
    targets = stage.take().targets
    assert targets is not None
    assert obstacles(targets) == {"node02": ["Volume"]}
    assert (targets.none, targets.ruled_out, targets.unless) == (True, ((1, f"without access to PVC {pvc}"),), "")
    assert targets.next.startswith("Check which nodes can use the VM's volumes")


@pytest.mark.parametrize(
    "bound",
    [volume("data", "node02"), volume("data"), volume("other", "node01"), volume("data", "node01", namespace="far")],
)
def test_a_volume_that_another_node_reaches_or_that_is_of_another_rules_nothing_out(bound: Row) -> None:
    assert obstacles(on_two({"labels": {HOST: "node02"}}, None, bound, spec=DISKS).take().targets) == {"node02": []}


def test_where_volumes_can_be_used_is_said_to_be_unknown_if_it_can_not_be_seen() -> None:
    stage = on_two({}, spec=DISKS)
    stage.sync_state("PersistentVolume", SyncState.FORBIDDEN)
    found = stage.take()
    assert found.targets is not None
    assert (found.targets.fitting, found.targets.unless) == (1, "the node affinity of its volumes")
    assert vm.exit_code(found) == 2

    stage = on_two({})
    stage.sync_state("PersistentVolume", SyncState.FORBIDDEN)
    without = stage.take()
    assert without.targets is not None
    assert (without.targets.unless, vm.exit_code(without)) == ("", 0)


def test_a_single_node_leaves_no_other() -> None:
    targets = OneVMStage(*running(), nodes=[node("node01")]).take().targets
    assert targets is not None
    assert (targets.in_all, targets.none, targets.next) == (0, True, "Add a node that takes VMs.")


# -- its next start


STOPPED: Row = {"kind": "VirtualMachine", "name": "a", "uid": "vm-a", "runStrategy": "Halted", "networks": {}}


def start(*rows: Row, nodes: list[Row]) -> dict[str, list[str]]:
    found = OneVMStage(*rows, nodes=nodes).take()
    assert (found.targets, found.runs) == (None, None)
    assert found.restart is not None
    return obstacles(found.restart.start)


def test_where_a_stopped_vm_could_start() -> None:
    vm_row = STOPPED | {"template": {"nodeSelector": {"zone": "a"}}, "domain": {"memory": {"guest": "4Gi"}}}
    small = node("node02", labels={"zone": "a"}, allocatable=ROOM | {"memory": "2Gi"})
    nodes = [node("node01", labels={"zone": "a"}), small, node("node03", cordoned=True, labels={"zone": "b"})]
    assert start(vm_row, nodes=nodes) == {"node01": [], "node02": ["Resource"], "node03": ["Cordoned", "Selector"]}


@pytest.mark.parametrize(
    ("domain", "configured", "takes"),
    [
        ({"memory": {"guest": "4Gi"}}, None, False),
        ({"memory": {"guest": "2Gi"}}, None, True),
        ({"memory": {"guest": "4Gi"}}, 200, True),  # the launcher pod asks for half of it
        ({"memory": {"guest": "4Gi"}, "resources": {"requests": {"memory": "1Gi"}}}, None, True),
        ({"resources": {"limits": {"memory": "4Gi"}}}, None, False),
        ({"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}}, None, False),  # of which there are none
        ({"memory": {"guest": "much"}}, None, True),
        ({}, None, True),
    ],
)
def test_how_much_memory_its_start_takes_at_the_least(domain: Row, configured: int | None, takes: bool) -> None:
    kubevirt: Row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}
    if configured:
        developer = {"developerConfiguration": {"memoryOvercommit": configured}}
        kubevirt["over"] = {"spec": {"configuration": developer}}
    nodes = [node("node01", allocatable=ROOM | {"memory": "2Gi"})]
    assert (start(STOPPED | {"domain": domain}, kubevirt, nodes=nodes) == {"node01": []}) is takes


def test_an_instancetype_gives_the_memory() -> None:
    def row(**memory: Any) -> Row:
        spec = {"cpu": {"guest": 1}, "memory": memory}
        return {"kind": "VirtualMachineClusterInstancetype", "name": "u1", "uid": "t", "spec": spec}

    one = STOPPED | {"instancetype": {"name": "u1"}}
    nodes = [node("node01", allocatable=ROOM | {"memory": "2Gi"})]
    assert start(one, row(guest="4Gi"), nodes=nodes) == {"node01": ["Resource"]}
    assert start(one, row(guest="4Gi", overcommitPercent=60), nodes=nodes) == {"node01": []}


def test_kvm_is_asked_for_where_any_node_has_it() -> None:
    kvm = node("node01", allocatable=ROOM | {"devices.kubevirt.io/kvm": "1k"})
    assert start(STOPPED, nodes=[kvm, node("node02")]) == {"node01": [], "node02": ["Device"]}
    assert start(STOPPED, nodes=[node("node02")]) == {"node02": []}


def test_without_nodes_pods_or_kubevirt_it_is_said_why_nobody_knows() -> None:
    found = OneVMStage(*running(), unseen=["Node"]).take()
    assert found.targets is not None
    assert found.targets.unknown == "nodes is missing"
    assert not found.targets.none
    assert vm.exit_code(found) == 2

    found = OneVMStage(*running(), unseen=["Pod"]).take()
    assert obstacles(found.targets) == {"node02": [], "node03": []}
    assert found.targets is not None
    assert any("no pods can be seen" in each for each in found.targets.not_considered)
    assert found.drain is None
    assert found.drain_unknown == "pods is missing"

    found = OneVMStage(STOPPED, unseen=["KubeVirt"]).take()
    assert found.restart is not None
    assert found.restart.start.unknown == "kubevirts.kubevirt.io is missing"
