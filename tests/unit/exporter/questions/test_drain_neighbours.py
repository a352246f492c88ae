"""The preview of a drain with affinity to other VMs, with what is not evaluated, and with migrations that failed."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.domain.drains.departure import DrainState
from exporter.questions.drain import exit_code

from ....drain_rows import Drained, guest, migration, node

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
VM = "vm.kubevirt.io/name"
THREE = [
    node("node01", cordoned=True, labels={HOST: "node01", ZONE: "a"}),
    node("node02", labels={HOST: "node02", ZONE: "a"}),
    node("node03", labels={HOST: "node03", ZONE: "b"}),
]


def term(apart: bool, labels: dict[str, str], topology: str = HOST, **more: Any) -> dict[str, Any]:
    rule = {"labelSelector": {"matchLabels": labels}, "topologyKey": topology, **more}
    kind = "podAntiAffinity" if apart else "podAffinity"
    return {"placement": {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}}


def launcher(name: str, **labels: str) -> dict[str, Any]:
    return {"labels": {"kubevirt.io": "virt-launcher", VM: name, **labels}}


OF_DB = {"kubevirt.io": "virt-launcher", "app": "db"}


def moved(*rows: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """State and target of the VMs of node01."""
    drained = Drained(*rows, nodes=THREE)
    (report,) = drained.take().nodes
    return {vm.vm.name: (vm.state.value, vm.target) for vm in report.vms}


def test_a_node_with_a_vm_that_it_stays_away_from_is_ruled_out() -> None:
    here = guest("db-0", launcher("db-0", app="db") | term(True, OF_DB))
    there = guest("db-1", launcher("db-1", app="db") | term(True, OF_DB), node="node02")
    assert moved(*here, *there) == {"db-0": ("waiting", "node03")}


def test_two_that_are_drained_together_stay_apart_where_they_come_to() -> None:
    rows = [row for at in (0, 1) for row in guest(f"db-{at}", launcher(f"db-{at}", app="db") | term(True, OF_DB))]
    found = moved(*rows)
    assert {state for state, _ in found.values()} == {"waiting"}
    assert sorted(target for _, target in found.values()) == ["node02", "node03"]


def test_where_no_zone_is_left_the_advice_is_about_that() -> None:
    here = guest("db-0", launcher("db-0", app="db") | term(True, OF_DB, ZONE))
    others = [
        row
        for at, name in enumerate(("node02", "node03"), 1)
        for row in guest(f"db-{at}", launcher(f"db-{at}", app="db"), node=name)
    ]
    vm = Drained(*here, *others, nodes=THREE).one()
    assert (vm.state, vm.reason) == (DrainState.BLOCKED, "NoTarget")
    assert "2 with pods that its anti-affinity keeps it apart from (db-1, db-2)" in vm.why
    assert vm.next.startswith("Add a node, free one from the pods that the VM's anti-affinity avoids")


def test_a_vm_that_has_to_be_near_another_one_goes_where_that_is() -> None:
    here = guest("web", launcher("web") | term(False, OF_DB))
    there = guest("db", launcher("db", app="db"), node="node03")
    assert moved(*here, *there) == {"web": ("waiting", "node03")}


@pytest.mark.parametrize(
    "more",
    [
        term(True, {"app": "db"}),
        term(True, OF_DB, namespaceSelector={}),
        {"placement": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE}]}},
    ],
    ids=["of any pod", "in any namespace", "topology spread"],
)
def test_what_is_not_evaluated_is_said_and_is_no_yes(more: dict[str, Any]) -> None:
    drained = Drained(*guest("db", launcher("db", app="db") | more), nodes=THREE)
    drain = drained.take()
    (vm,) = drain.nodes[0].vms
    assert (vm.state, vm.target) == (DrainState.MAY_MIGRATE, "node02")
    assert "not evaluated here" in vm.why
    assert exit_code(drain) == 2


@pytest.mark.parametrize(
    "harmless",
    [
        {"placement": {"topologySpreadConstraints": [{"topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}]}},
        term(True, {"kubevirt.io/created-by": "u-db"}),
        {"placement": {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}},
        {"placement": {"affinity": {"podAffinity": None, "podAntiAffinity": {}}}},
    ],
    ids=["soft spread", "KubeVirt's own", "preferred", "null"],
)
def test_what_binds_nobody_is_none(harmless: dict[str, Any]) -> None:
    drained = Drained(*guest("db", launcher("db") | harmless), nodes=THREE)
    drain = drained.take()
    assert drain.nodes[0].vms[0].state is DrainState.WAITING
    assert exit_code(drain) == 0


# -- the last failures

CPU = "operation failed: guest CPU doesn't match specification: extra features: vmx-ept"


def failed(name: str, minute: int, failure: str) -> dict[str, Any]:
    return migration(name, "db", "Failed", minute, evacuates=None, failed=failure)


def test_a_vm_whose_next_migration_fails_as_well_does_not_leave() -> None:
    drained = Drained(*guest("db"), failed("m1", 1, CPU))
    vm = drained.one()
    assert (vm.state, vm.reason) == (DrainState.BLOCKED, "MigrationFailing")
    assert "restart the VM" in vm.next
    assert exit_code(drained.take()) == 1


def test_a_vm_whose_last_two_failed_may_leave() -> None:
    drained = Drained(*guest("db"), *(failed(f"m{at}", at, "Live migration stuck for 150 seconds") for at in (1, 2)))
    vm = drained.one()
    assert (vm.state, vm.reason) == (DrainState.MAY_MIGRATE, "MigrationFailing")
    assert exit_code(drained.take()) == 2


def test_one_failure_that_does_not_last_says_little() -> None:
    assert Drained(*guest("db"), failed("m1", 1, "i/o timeout")).reported() == ("waiting", "")


def test_a_success_makes_up_for_failures() -> None:
    rows = [failed("m1", 1, CPU), migration("m2", "db", "Succeeded", 2, evacuates=None)]
    assert Drained(*guest("db"), *rows).reported() == ("waiting", "")


# -- what waits for another controller


def test_what_its_controller_has_not_moved_in_time_is_not_left_to_it() -> None:
    labels = {"capk.cluster.x-k8s.io/kubevirt-machine-name": "worker-1"}
    rows = guest("db", strategy="External", labels=labels, evacuation="node01", evacuation_since="2026-05-01T10:00:00Z")
    drained = Drained(*rows)
    assert drained.reported() == ("blocked", "ExternalAwaiting")
    assert exit_code(drained.take()) == 1
