"""Which of the nodes that stay could take what leaves, and why none can."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.domain.drains.departure import DrainState
from exporter.questions import drain
from exporter.questions.drain.report import Drain, VMReport

from ....drain_rows import Drained, Row, guest, node

MOVED = "2026-06-01T10:00:00Z"
SMALL = {"cpu": "4", "memory": "8Gi", "pods": "10"}


def sized(name: str, memory: str, **more: Any) -> list[Row]:
    return guest(name, {"requests": {"memory": memory, "cpu": "1"}}, **more)


def by_name(view: Drain) -> dict[str, VMReport]:
    return {vm.vm.name: vm for node in view.nodes for vm in node.vms}


def test_the_largest_first_and_what_was_placed_takes_room() -> None:
    nodes = [node("node01"), node("n2", allocatable=SMALL), node("n3", allocatable=SMALL)]
    rows = [*sized("a", "2Gi"), *sized("b", "6Gi"), *sized("c", "5Gi"), *sized("d", "3Gi")]
    found = by_name(Drained(*rows, nodes=nodes).take())
    assert {name: vm.target for name, vm in found.items()} == {"b": "n2", "c": "n3", "d": "n3", "a": "n2"}


def test_what_pods_there_ask_for_is_not_free() -> None:
    pods = [{"kind": "Pod", "name": "web", "node": "n2", "requests": {"memory": "4Gi"}}]
    nodes = [node("node01"), node("n2", allocatable=SMALL)]
    assert by_name(Drained(*sized("a", "5Gi"), nodes=nodes).take())["a"].target == "n2"
    vm = by_name(Drained(*sized("a", "5Gi"), *pods, nodes=nodes).take())["a"]
    assert (vm.state, vm.reason, vm.target) == (DrainState.BLOCKED, "NoTarget", "")
    assert vm.room == "1 node: 1 lacks memory (needs 5 GiB, most free 4 GiB)"
    assert vm.why == f"No node can take the VMI: {vm.room}."
    assert "Free memory on another node" in vm.next


def test_room_that_larger_vms_of_the_drain_take() -> None:
    nodes = [node("node01"), node("n2", allocatable=SMALL)]
    view = Drained(*sized("a", "5Gi"), *sized("b", "6Gi"), nodes=nodes).take()
    found = by_name(view)
    assert (found["b"].state, found["b"].target) == (DrainState.WAITING, "n2")
    assert (found["a"].state, found["a"].reason) == (DrainState.BLOCKED, "NoRoomLeft")
    assert found["a"].why.startswith("After the larger VMs of this drain no node can take the VMI: 1 node: 1 lacks mem")
    assert drain.exit_code(view) == 1


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"cordoned": True}, "1 cordoned"),
        ({"ready": False}, "1 not Ready"),
        ({"deleting": True}, "1 being deleted"),
        ({"labels": {"kubevirt.io/schedulable": "false"}}, "1 without label kubevirt.io/schedulable=true"),
        ({"taints": ["gpu:NoSchedule"]}, "1 taint gpu:NoSchedule"),
        ({"taints": ["gpu:PreferNoSchedule"]}, ""),
        ({"allocatable": SMALL | {"cpu": "500m"}}, "1 lacks cpu (needs 1, most free 0.5)"),
        ({"allocatable": SMALL | {"pods": "0"}}, "1 lacks pods (needs 1, most free 0)"),
    ],
)
def test_what_keeps_every_vm_off_a_node(other: Row, why: str) -> None:
    vm = Drained(*sized("a", "1Gi"), nodes=[node("node01"), node("n2", **other)]).one()
    assert vm.room == (f"1 node: {why}" if why else "")
    assert (vm.target == "n2") == (not why)


AFFINITY = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
            }
        }
    }
}


@pytest.mark.parametrize(
    ("placement", "requests", "why"),
    [
        ({"nodeSelector": {"zone": "b"}}, {}, "1 node: 1 without label zone=b"),
        ({"nodeSelector": {"zone": "a"}}, {}, ""),
        (AFFINITY, {}, ""),
        ({"nodeSelector": {"cpu-model.node.kubevirt.io/Icelake": "true"}}, {}, "1 node: 1 without label cpu-model"),
        ({}, {"nvidia.com/gpu": "1"}, "1 node: 1 lacks nvidia.com/gpu (needs 1, most free 0)"),
        ({}, {"ephemeral-storage": "50M"}, "1 node: 1 lacks ephemeral-storage (needs 47.68 MiB, most free 0 bytes)"),
    ],
)
def test_what_keeps_one_vm_off_a_node(placement: Row, requests: Row, why: str) -> None:
    nodes = [node("node01"), node("n2", labels={"zone": "a"})]
    vm = Drained(*guest("a", {"placement": placement, "requests": requests}), nodes=nodes).one()
    assert vm.room.startswith(why) if why else vm.target == "n2"


def test_the_fullest_reason_groups_the_nodes() -> None:
    others = [
        node("n2", allocatable=SMALL),
        node("n3", allocatable=SMALL | {"memory": "2Gi"}),
        node("n4", taints=["gpu:NoSchedule"]),
    ]
    vm = Drained(*sized("a", "9Gi"), nodes=[node("node01"), *others]).one()
    assert vm.room == "3 nodes: 2 lack memory (needs 9 GiB, most free 8 GiB), 1 taint gpu:NoSchedule"
    assert Drained(*sized("a", "1Gi"), nodes=[node("node01")]).one().room == "there is no other node"


def test_many_reasons_are_cut_short() -> None:
    others = [node(f"n{n}", taints=[f"t{n}:NoSchedule"]) for n in range(2, 11)]
    room = Drained(*sized("a", "1Gi"), nodes=[node("node01"), *others]).one().room
    assert room.startswith("9 nodes: 1 taint t10")
    assert room.endswith(", 3 for other reasons")


def test_nodes_that_are_drained_together_take_nothing_of_each_other() -> None:
    view = Drained(*sized("a", "1Gi"), *sized("b", "1Gi", node="node02"))
    assert by_name(view.take("node01"))["a"].target == "node02"
    both = by_name(view.take("node01", "node02"))
    assert {vm.room for vm in both.values()} == {"there is no other node"}


HOST = {"host-model-cpu.node.kubevirt.io/Skylake": "true", "host-model-required-features.node.kubevirt.io/vmx": "true"}
CAN_TAKE = {"cpu-model-migration.node.kubevirt.io/Skylake": "true", "cpu-feature.node.kubevirt.io/vmx": "true"}


def test_a_cpu_of_the_hosts_model_needs_that_model_and_its_features() -> None:
    source = node("node01", labels=HOST)
    rows = guest("a", cpu="host-model")
    assert Drained(*rows, nodes=[source, node("n2", labels=CAN_TAKE)]).one().target == "n2"
    for missing in CAN_TAKE:
        labels = {key: value for key, value in CAN_TAKE.items() if key != missing}
        room = Drained(*rows, nodes=[source, node("n2", labels=labels)]).one().room
        assert room == f"1 node: 1 without label {missing}=true"
    labelled = {"cpu-model.node.kubevirt.io/Skylake": "true"}  # by which KubeVirt picks nodes for a model that is named
    nodes = [source, node("n2", labels=labelled)]
    assert Drained(*guest("a", cpu="Skylake"), nodes=nodes).one().target == "n2"


def test_an_earlier_migration_has_fixed_the_model() -> None:
    fixed = {"nodeSelector": {"cpu-model-migration.node.kubevirt.io/Haswell": "true"}}
    moved = {"startTimestamp": MOVED, "endTimestamp": MOVED, "completed": True, "targetNode": "node01"}
    rows = guest("a", {"placement": fixed}, cpu="host-model", migration=moved)
    nodes = [node("node01", labels=HOST), node("n2", labels={"cpu-model-migration.node.kubevirt.io/Haswell": "true"})]
    assert Drained(*rows, nodes=nodes).one().target == "n2"


def test_one_that_blocks_is_reported_where_it_could_go_and_one_that_can_not_move_is_not() -> None:
    rows = [
        *guest("stale", evacuation="gone"),
        *guest("stays", migratable=False),
        *guest("terminating", strategy="None"),
    ]
    found = by_name(Drained(*rows).take())
    assert {name: vm.target for name, vm in found.items()} == {"stale": "node02", "stays": "", "terminating": ""}


def test_a_thousand_nodes_are_walked_in_many_steps_and_their_room_counted_once() -> None:
    others = [node(f"n{n:04}", allocatable=SMALL | {"memory": "1Gi"}) for n in range(999)]
    pods = [{"kind": "Pod", "name": f"p{n}", "node": f"n{n:04}", "requests": {"memory": "512Mi"}} for n in range(999)]
    rows = [row for n in range(20) for row in sized(f"m{n:02}", "2Gi")]
    view = Drained(*rows, *pods, nodes=[node("node01"), *others])
    assert sum(1 for _ in drain.steps(view.engine.cluster, ["node01"], (), 0)) > 20
    rooms = {vm.room for vm in view.node().vms}
    assert rooms == {"999 nodes: 999 lack memory (needs 2 GiB, most free 512 MiB)"}
