"""How many VMs and VMIs ask for each feature, and which gates are on: it follows every change."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from exporter.counts import feature_gates, features
from exporter.counts.base import Aggregates, State
from exporter.counts.features import PHASES, FeatureUsage, phase_of
from exporter.domain.features.configuration import chosen
from exporter.domain.features.requests import requests_of
from exporter.facts.rules import RULES
from exporter.metrics.states import States
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.source import SyncState
from tests.amounts import drawn, rounds
from tests.evaluation import Evaluation
from tests.feature_rows import GPU, KUBEVIRT, VM, VMI, VSOCK, Row, a_change, gpu_size, vm, vmi
from tests.rows import full


class Fleet:
    def __init__(self, *rows: Row) -> None:
        states: list[State[Any]] = [feature_gates.STATE, features.STATE]
        self.evaluation = Evaluation([], indexes=(*features.STATE.indexes, *feature_gates.STATE.indexes))
        self.cluster = self.evaluation.engine.cluster
        self.aggregates = Aggregates(self.cluster, states)
        self.evaluation.engine.observe(self.aggregates.changed)
        self.put(*rows)

    def put(self, *rows: Row) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    def gone(self, row: Row) -> None:
        made = full(row)
        self.evaluation.gone(row["kind"], made["metadata"].get("namespace", ""), row["name"])

    def lines(self, family: str = "kubevirt_feature_requests") -> list[str]:
        async def text() -> str:
            return b"".join([part async for part in States(self.cluster, self.aggregates, None).render()]).decode()

        return [line for line in asyncio.run(text()).splitlines() if line.startswith(f"{family}{{")]

    def asked(self, rule: str) -> dict[tuple[str, str], int]:
        """By kind and phase, as far as there are any."""
        found = {}
        for line in self.lines():
            feature, kind, phase = (part.split('"')[1] for part in line.partition("}")[0].split(","))
            if feature == rule and not line.endswith(" 0"):
                found[kind, phase] = int(line.rpartition(" ")[2])
        return found


# -- who asks


def test_the_series_are_the_same_whatever_the_fleet_asks_for() -> None:
    empty, busy = Fleet().lines(), Fleet(vm(domain=GPU), vmi(domain=GPU), vm("b", domain=VSOCK)).lines()
    assert [line.rpartition(" ")[0] for line in empty] == [line.rpartition(" ")[0] for line in busy]
    assert len(empty) == len(RULES) * sum(map(len, PHASES.values()))
    assert all(line.endswith(" 0") for line in empty)


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([vm(domain=GPU)], {(VM, "stopped"): 1}),
        ([vm(domain=GPU), vmi(domain=GPU)], {(VM, "running"): 1, (VMI, "Running"): 1}),
        ([vm(domain=GPU), vmi(domain=GPU, vm="u-other")], {(VM, "stopped"): 1, (VMI, "Running"): 1}),
        ([vm(domain=GPU), vmi(domain=GPU, phase="Succeeded")], {(VM, "stopped"): 1}),
        ([vm(domain=GPU), vmi()], {(VM, "running"): 1}),  # added to the VM since it started
        ([vm(), vmi(domain=GPU)], {(VMI, "Running"): 1}),
        ([vm(domain=GPU, deleting=True)], {}),
        ([vmi(domain=GPU, phase="Scheduling")], {(VMI, "Scheduling"): 1}),
        ([vmi(domain=GPU, over={"status": {"phase": "Dreaming"}})], {(VMI, "Unknown"): 1}),
        ([vmi(domain=GPU, over={"status": {"phase": None}})], {(VMI, "Pending"): 1}),
        ([gpu_size(), vm(instancetype={"name": "gpu1"})], {(VM, "stopped"): 1}),
        ([vm(instancetype={"name": "gpu1"})], {}),
        ([vm(domain=VSOCK), vm("b", domain=GPU), vm("c", domain=GPU)], {(VM, "stopped"): 2}),
    ],
)
def test_who_asks_for_a_feature(rows: list[Row], counts: dict[tuple[str, str], int]) -> None:
    for order in (rows, rows[::-1]):
        assert Fleet(*order).asked("permitted_host_devices") == counts


def test_an_instancetype_that_changes_changes_its_vms() -> None:
    fleet = Fleet(vm(instancetype={"name": "gpu1"}), vm("b"))
    assert fleet.asked("permitted_host_devices") == {}
    fleet.put(gpu_size())
    assert fleet.asked("permitted_host_devices") == {(VM, "stopped"): 1}
    fleet.put(gpu_size(spec={"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}))
    assert fleet.asked("permitted_host_devices") == {}


def test_a_feature_that_everybody_asks_for_is_counted_too() -> None:
    fleet = Fleet(*(vm(name, domain={"machine": {"type": "q35"}}) for name in "abc"))
    assert fleet.asked("emulated_machines") == {(VM, "stopped"): 3}
    fleet.gone(vm("a"))
    assert fleet.asked("emulated_machines") == {(VM, "stopped"): 2}


@pytest.mark.parametrize("kind", [VM, VMI, "ControllerRevision", "KubeVirt", "VirtualMachineClusterInstancetype"])
def test_nothing_is_counted_while_a_kind_is_not_seen(kind: str) -> None:
    fleet = Fleet(KUBEVIRT, vm(domain=GPU))
    assert fleet.lines()
    fleet.evaluation.sync_state(kind, SyncState.FORBIDDEN)
    assert fleet.lines() == []


def test_hostile_parameters_make_no_series() -> None:
    hostile = {"devices": {"gpus": [{"name": "g", "deviceName": 'a"} 1\nup{x="\\'}]}, "machine": {"type": "x" * 4000}}
    fleet = Fleet(vm(domain=hostile))
    assert fleet.asked("permitted_host_devices") == {(VM, "stopped"): 1}
    assert len(fleet.lines()) == len(Fleet().lines())


# -- which gates are on


def gates(fleet: Fleet) -> dict[str, tuple[str, str, str]]:
    """Stage, source and value."""
    found = {}
    for line in fleet.lines("kubevirt_feature_enabled"):
        gate, stage, source = (part.split('"')[1] for part in line.partition("}")[0].split(","))
        assert gate not in found
        found[gate] = stage, source, line.rpartition(" ")[2]
    return found


def test_every_gate_that_the_version_knows_is_there_and_no_other() -> None:
    fleet = Fleet(KUBEVIRT | {"gates": ["DownwardMetrics", "NoSuchGate", "ImageVolume"]})
    found = gates(fleet)
    assert found["DownwardMetrics"] == ("Alpha", "listed", "1")
    assert found["HostDisk"] == ("Alpha", "off", "0")
    assert found["LiveMigration"] == ("GA", "always", "1")
    assert found["Macvtap"][0] == "Discontinued"
    assert "NoSuchGate" not in found
    assert "GraceIOVirtualization" not in found  # it comes with 1.9
    fleet.put(KUBEVIRT | {"version": "v1.9.0", "disabledGates": ["ImageVolume"]})
    found = gates(fleet)
    assert found["ImageVolume"] == ("Beta", "disabled", "0")
    assert found["KubevirtSeccompProfile"] == ("Beta", "default", "1")
    assert found["DownwardMetrics"] == ("Alpha", "off", "0")
    assert "GraceIOVirtualization" in found


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [KUBEVIRT, KUBEVIRT | {"name": "second"}],
        [KUBEVIRT | {"version": "2024.1-enterprise"}],
        [KUBEVIRT | {"configuration": {"network": {"defaultNetworkInterface": "token-ring"}}}],
        [KUBEVIRT | {"phase": ""}],
        [KUBEVIRT, KUBEVIRT | {"name": "second", "undecodable": True}],
    ],
)
def test_gates_are_absent_while_nobody_knows_them(rows: list[Row]) -> None:
    assert gates(Fleet(*rows)) == {}


def test_gates_are_there_while_vms_are_not_seen() -> None:
    fleet = Fleet(KUBEVIRT)
    fleet.evaluation.sync_state(VM, SyncState.FORBIDDEN)
    assert gates(fleet)
    fleet.evaluation.sync_state("KubeVirt", SyncState.FORBIDDEN)
    assert gates(fleet) == {}


# -- any sequence of changes


def counted(usage: FeatureUsage) -> Counter[tuple[str, str, str]]:
    list(usage.settle())
    made: Counter[tuple[str, str, str]] = Counter()
    for rule in RULES:
        for kind, phases in PHASES.items():
            made.update({(rule.id, kind, phase): usage.count(rule.id, kind, phase) for phase in phases})
    return +made


def anew(fleet: Fleet) -> Counter[tuple[str, str, str]]:
    """Each VM and VMI by itself."""
    cluster = fleet.cluster
    kubevirt = chosen(cluster.all(KubeVirt))
    found: Counter[tuple[str, str, str]] = Counter()
    vmis = [each for each in cluster.all(VirtualMachineInstance) if each.phase not in ("Failed", "Succeeded")]
    for each in vmis:
        found.update((rule, VMI, phase_of(each)) for rule in dict(each.asks))
    owners = {(each.namespace, each.name, each.vm_uid) for each in vmis}
    for one in cluster.all(VirtualMachine):
        if one.deleting is None:
            phase = "running" if (one.namespace, one.name, one.uid) in owners else "stopped"
            asked = requests_of(one, cluster.get, None if isinstance(kubevirt, str) else kubevirt)
            found.update((rule, VM, phase) for rule in dict(asked))
    return found


def by_groups(usage: FeatureUsage) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for each in usage.groups():
        found.update({(rule, each.kind, each.phase): each.members for rule in each.rules})
    return found


@drawn
@pytest.mark.parametrize("seed", range(rounds(3, 12)))
def test_after_any_changes_the_counts_are_those_from_scratch(seed: int) -> None:
    dice = random.Random(seed)
    fleet = Fleet()
    kept, most = fleet.aggregates.of(FeatureUsage), 0
    for turn in range(400):
        row = a_change(dice)
        if dice.random() < 0.25:
            fleet.gone(row)
        else:
            fleet.put(row)
        if turn % 3 == 0:  # in between, several are noted at once
            counts = counted(kept)
            assert counts == anew(fleet), turn
            assert counts == counted(FeatureUsage.over(fleet.cluster)), turn
            assert counts == by_groups(kept), turn
            most = max(most, counts["permitted_host_devices", VM, "running"])
    assert most > 0


def test_what_goes_leaves_nothing_behind() -> None:
    dice, fleet = random.Random(1), Fleet()
    usage, rows = fleet.aggregates.of(FeatureUsage), {}
    for _ in range(300):
        row = a_change(dice)
        fleet.put(row)
        rows[row["kind"], row["name"]] = row
    assert counted(usage)
    for row in rows.values():
        fleet.gone(row)
    assert not counted(usage)
    assert (usage.groups(), usage.namespaces(VM), usage.namespaces(VMI)) == ([], [], [])


def test_a_new_version_of_kubevirt_is_taken_into_account_in_turns() -> None:
    """Which copy of its instancetype a VM gets depends on the version."""
    of: Row = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype"}
    of |= {"metadata": {"name": "other", "uid": "t1", "generation": 1}, "spec": gpu_size()["spec"]}
    copies = ({"kind": "ControllerRevision", "name": "r", "namespace": f"ns-{each}", "of": of} for each in range(5))
    fleet = Fleet(KUBEVIRT | {"version": "v1.7.0"}, *copies)
    fleet.put(
        *(
            vm(f"vm-{each}", namespace=f"ns-{each % 5}", instancetype={"name": "gpu1"}, instancetypeRef="r")
            for each in range(1000)
        )
    )
    assert fleet.asked("permitted_host_devices") == {}
    fleet.put(KUBEVIRT | {"version": "v1.5.0"})
    assert sum(1 for _ in fleet.aggregates.of(FeatureUsage).settle()) >= 1000 // 200 - 1
    assert fleet.asked("permitted_host_devices") == {(VM, "stopped"): 1000}
    fleet.put(KUBEVIRT | {"version": "v1.7.0"})
    assert fleet.asked("permitted_host_devices") == {}
