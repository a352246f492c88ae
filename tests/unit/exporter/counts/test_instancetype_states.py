"""How many VMs refer to each instancetype and preference: what is shown, and that it follows every change."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from exporter.counts.base import Aggregates
from exporter.counts.instancetypes import STATE, InstancetypeUsage
from exporter.domain.instancetypes.resolving import ReferenceMode, resolve, target
from exporter.facts.matching import ROLES
from exporter.metrics.states import States
from exporter.metrics.text import SeriesLimit
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import SyncState
from tests.amounts import drawn, rounds
from tests.evaluation import Evaluation
from tests.instancetype_rows import CLUSTER, NAMESPACED, U1, Row, revision, vm
from tests.rows import full


class Fleet:
    def __init__(self, *rows: Row) -> None:
        self.evaluation = Evaluation([], indexes=STATE.indexes)
        self.cluster = self.evaluation.engine.cluster
        self.aggregates = Aggregates(self.cluster, [STATE])
        self.evaluation.engine.observe(self.aggregates.changed)
        self.put(*rows)

    def put(self, *rows: Row) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    def gone(self, row: Row) -> None:
        made = full(row)
        self.evaluation.gone(row["kind"], made["metadata"].get("namespace", ""), row["name"])

    def lines(self, limit: SeriesLimit | None = None) -> list[str]:
        async def text() -> str:
            return b"".join([part async for part in States(self.cluster, self.aggregates, limit).render()]).decode()

        return [line for line in asyncio.run(text()).splitlines() if not line.startswith("#")]

    def counted(self) -> dict[tuple[str, str], dict[str, int]]:
        """By family and object, the modes that any VM has."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        for line in self.lines():
            family, _, rest = line.partition("{")
            labels, _, number = rest.rpartition("} ")
            scope, namespace, name, mode = (each.split("=")[1].strip('"') for each in labels.split(","))
            counts = found.setdefault((family.removeprefix("kubevirt_"), f"{scope} {namespace}/{name}"), {})
            if number != "0":
                counts[mode] = int(number)
        return found


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([vm()], {"unversioned": 1}),
        ([vm(), vm("b", deleting=True)], {"unversioned": 1}),
        ([vm(), vm("b", instancetype=None)], {"unversioned": 1}),
        ([vm(instancetypeRef="r"), revision()], {"revision": 1}),
        ([vm(instancetypeRef="r")], {"revision": 1}),  # it is missing, and the VM is bound to it all the same
        ([vm(instancetypeRef="r"), revision(of="u2")], {"unversioned": 1}),
        ([vm(instancetype={"name": "u1", "revisionName": "r"}), vm("b")], {"pinned": 1, "unversioned": 1}),
        ([vm(instancetype={"name": "u1", "kind": "virtualmachineclusterinstancetypes"})], {"unversioned": 1}),
        ([vm(instancetype={"name": "u1", "kind": "Flavour"})], {}),
        ([vm(instancetype={})], {}),
    ],
)
def test_by_how_a_vm_refers_to_an_object(rows: list[Row], counts: dict[str, int]) -> None:
    for order in (rows, rows[::-1]):
        assert Fleet(U1, *order).counted() == {("instancetype_vms", "cluster /u1"): counts}


def test_each_object_counts_by_its_kind_and_namespace() -> None:
    fleet = Fleet(
        U1,
        {"kind": NAMESPACED, "name": "u1"},
        {"kind": "VirtualMachinePreference", "name": "p", "namespace": "idle"},
        vm(preference={"name": "gone"}),
        vm("b", instancetype={"name": "u1", "kind": "VirtualMachineInstancetype"}),
        vm("c", instancetype={"inferFromVolume": "disk"}),
    )
    assert fleet.counted() == {
        ("instancetype_vms", "cluster /u1"): {"unversioned": 1},
        ("instancetype_vms", "namespace ns/u1"): {"unversioned": 1},
        ("instancetype_vms", "cluster /"): {"inferred": 1},
        ("preference_vms", "cluster /gone"): {"unversioned": 1},
        ("preference_vms", "namespace idle/p"): {},
    }
    assert 'kubevirt_instancetype_vms{scope="cluster",namespace="",name="u1",mode="pinned"} 0' in fleet.lines()
    assert 'kubevirt_instancetype_vms{scope="cluster",namespace="",name="",mode="inferred"} 1' in fleet.lines()


def test_a_revision_changes_the_mode_of_the_vms_that_name_it() -> None:
    fleet = Fleet(vm(instancetypeRef="r"), vm("b", instancetypeRef="r"), vm("other"), revision(of="u2"))
    key = ("instancetype_vms", "cluster /u1")
    assert fleet.counted()[key] == {"unversioned": 3}
    fleet.put(revision())
    assert fleet.counted()[key] == {"revision": 2, "unversioned": 1}
    fleet.put(revision(of="u2"))
    assert fleet.counted()[key] == {"unversioned": 3}
    fleet.gone(revision())
    assert fleet.counted()[key] == {"revision": 2, "unversioned": 1}
    # One of another controller has no label, and is of no instancetype.
    fleet.put({"kind": "ControllerRevision", "name": "r", "data": {"spec": {}}})
    assert fleet.counted()[key] == {"unversioned": 3}


def test_a_version_of_kubevirt_changes_the_mode_of_all() -> None:
    rows = [vm(f"vm-{each}", namespace=f"ns-{each % 7}", instancetypeRef="r") for each in range(450)]
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}
    fleet = Fleet(*rows, *(revision(of="u2", namespace=f"ns-{each}") for each in range(7)))
    key = ("instancetype_vms", "cluster /u1")
    assert fleet.counted()[key] == {"unversioned": 450}
    fleet.put(kubevirt | {"version": "v1.5.0"})
    assert fleet.counted()[key] == {"revision": 450}
    fleet.put(kubevirt | {"version": "v1.7.0"})
    assert fleet.counted()[key] == {"unversioned": 450}


def test_what_went_leaves_no_series() -> None:
    fleet = Fleet(U1, vm(), vm("b", instancetype={"inferFromVolume": "disk"}))
    fleet.gone(U1)
    assert fleet.counted()[("instancetype_vms", "cluster /u1")] == {"unversioned": 1}
    fleet.put(vm(deleting=True))
    fleet.gone(vm("b"))
    assert fleet.lines() == []


@pytest.mark.parametrize("kind", [CLUSTER, "VirtualMachineClusterPreference"])
def test_there_are_none_where_they_are_not_served(kind: str) -> None:
    fleet = Fleet(U1, vm())
    assert fleet.lines()
    fleet.evaluation.sync_state(kind, SyncState.ABSENT)
    assert fleet.lines() == []


def test_the_series_limit_is_kept() -> None:
    fleet = Fleet(*(U1 | {"name": f"u{each}"} for each in range(10)), vm())
    assert len(fleet.lines(SeriesLimit(family=10))) == 9  # three of each, and all of them or none


def test_hostile_names_stay_one_label_value() -> None:
    hostile = 'a"} 1\nup{x="\\'
    lines = Fleet(vm(instancetype={"name": hostile}), vm("b", instancetype={"name": "x" * 253})).lines()
    assert len(lines) == 6
    assert all(line.startswith("kubevirt_instancetype_vms{") for line in lines)
    assert any(r'name="a\"} 1\nup{x=\"\\"' in line for line in lines)


# -- any sequence of changes


def a_change(dice: random.Random) -> Row:
    """One of few objects, in one of few states, so that they meet."""
    some = random.Random(dice.random()).choice
    name, of = some(("a", "b", "c")), some(("u1", "u2"))
    made = dice.randrange(6)
    if made == 0:
        return {"kind": "KubeVirt", "name": "kubevirt", "version": dice.choice(("v1.5.0", "v1.6.2", "v1.7.0"))}
    if made == 1:
        kind = dice.choice((CLUSTER, NAMESPACED, "VirtualMachineClusterPreference", "VirtualMachinePreference"))
        return {"kind": kind, "name": of, "deleting": dice.random() < 0.2}
    if made == 2:
        labels: Row = dice.choice(({}, {"labels": {}}))
        foreign = {"kind": "ControllerRevision", "name": f"r-{name}", "data": {"spec": {}}}
        return foreign if dice.random() < 0.2 else revision(f"r-{name}", of) | labels
    if made == 3:
        matcher = dice.choice(({"name": of}, {"name": of, "revisionName": "r-a"}, {"name": of, "kind": "Flavour"}))
        return {"kind": "VirtualMachinePool", "name": name, "instancetype": matcher, "deleting": dice.random() < 0.2}
    row = vm(name, deleting=dice.random() < 0.1)
    for role in ("instancetype", "preference"):
        matcher = dice.choice(
            ({}, {"name": of}, {"inferFromVolume": "disk"}, {"name": of, "kind": f"virtualmachine{role}"})
        )
        if dice.random() < 0.2:
            matcher = matcher | {"revisionName": f"r-{name}"}
        row |= {role: dice.choice((matcher, matcher, None))}
        if dice.random() < 0.6:
            row |= {f"{role}Ref": f"r-{dice.choice('abc')}"}
    return row


def known(usage: InstancetypeUsage) -> Any:
    list(usage.settle())
    return {
        target: (dict(usage.modes(target)), dict(usage.uses(target)), usage.pools(target), usage.revisions(target))
        for role in ROLES
        for target in usage.targets(role)
    }


def resolved(fleet: Fleet) -> Counter[tuple[str, str, str, str]]:
    """Each VM resolved by itself: kind, namespace and name of the object, and the mode."""
    kubevirt = fleet.cluster.get(KubeVirt, "ns", "kubevirt")
    found: Counter[tuple[str, str, str, str]] = Counter()
    for each in fleet.cluster.all(VirtualMachine):
        for role in ROLES:
            made = resolve(each, role, fleet.cluster.get, kubevirt) if each.deleting is None else None
            if made is not None and made.kind and (made.reference.name or made.mode is ReferenceMode.INFERRED):
                found[(*target(each.namespace, role, made.reference), made.mode.value)] += 1
    return found


@drawn
@pytest.mark.parametrize("seed", range(rounds(3, 12)))
def test_after_any_changes_the_counts_are_those_from_scratch(seed: int) -> None:
    dice = random.Random(seed)
    fleet = Fleet()
    kept, most = fleet.aggregates.of(InstancetypeUsage), 0
    for turn in range(300):
        row = a_change(dice)
        if dice.random() < 0.25:
            fleet.gone(row)
        else:
            fleet.put(row)
        if turn % 3 == 0:  # in between, several are noted at once
            counts = known(kept)
            assert counts == known(InstancetypeUsage.over(fleet.cluster)), turn
            modes = {(*of, mode.value): number for of, each in counts.items() for mode, number in each[0].items()}
            assert modes == resolved(fleet), turn
            most = max(most, len(counts))
    assert most > 3
