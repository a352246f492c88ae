"""Instancetypes, their revisions and VMs come, change and go: what is known afterwards is what a fresh look knows."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.counts.instancetypes import InstancetypeUsage
from exporter.engine.evaluate import at_once
from exporter.facts.matching import ROLES
from exporter.questions import instancetypes
from exporter.store.source import SyncState
from tests.amounts import drawn, rounds
from tests.engine_rows import comparable
from tests.evaluation import Evaluation
from tests.rows import full
from tests.storms import LOST, Storm

_CHECKS = [check for check in all_checks() if check.id.startswith("instancetype_")]
_GROUP = "instancetype.kubevirt.io/v1beta1"
_KINDS = {
    "instancetype": ("VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"),
    "preference": ("VirtualMachinePreference", "VirtualMachineClusterPreference"),
}
_START = "revision-start-vm-"

Row = dict[str, Any]


class _Storm(Storm):
    def __init__(self, seed: int) -> None:
        super().__init__([], seed)
        self.evaluation, self.usage = _observed()
        self.objects.clear()

    def act(self) -> None:
        if self.objects and self.chance.random() < 0.3:
            self.delete(self.chance.choice(sorted(self.objects)))
        else:
            self.put(self._row())
        if self.chance.random() < 0.3:
            self.evaluation.engine.step()
        if self.chance.random() < 0.1:
            deque(self.usage.settle(), 0)

    def _row(self) -> Row:
        pick = self.chance.choice
        namespace, uid = pick(("ns", "other")), pick(("1", "2"))
        makers = (self._kept, self._revision, self._revision, self._vm, self._vm, self._vm, self._vmi, self._other)
        row = {"namespace": namespace, **pick(makers)(pick(("a", "b")), uid)}
        row["uid"] = f"{row['kind']}-{namespace}-{row['name']}-{uid}"
        return row

    def _kept(self, name: str, uid: str) -> Row:
        pick = self.chance.choice
        kind = pick([kind for kinds in _KINDS.values() for kind in kinds])
        labels = pick(({}, {"instancetype.kubevirt.io/deprecated": "true"}))
        row: Row = {
            "kind": kind,
            "name": name,
            "generation": int(uid),
            "labels": labels,
            "deleting": pick((True, False)),
        }
        if "Instancetype" in kind:
            row["spec"] = {"cpu": {"guest": pick((1, 2))}, "memory": {"guest": "1Gi"}}
        return row

    def _revision(self, name: str, uid: str) -> Row:
        pick = self.chance.choice
        kind = pick([kind for kinds in _KINDS.values() for kind in kinds])
        inner = {"name": name, "uid": f"{kind}-ns-{name}-{uid}", "generation": int(uid)}
        of = {"apiVersion": _GROUP, "kind": kind, "metadata": inner, "spec": {}}
        row: Row = {"kind": "ControllerRevision", "name": pick(("r1", "r2", "r3", f"{_START}x")), "vm": name}
        row |= pick(({}, {"owner": f"VirtualMachine-ns-{name}-{uid}"}))
        row |= pick(({"of": of}, {"of": of}, {"of": of, "labels": {}}, {"data": {"spec": 1}}))
        if row["name"].startswith(_START):
            saved = {"name": name} | pick(({}, {"revisionName": "r1"}))
            row = {"kind": "ControllerRevision", "name": row["name"], "start": {"instancetype": saved}}
        return row

    def _vm(self, name: str, _: str) -> Row:
        pick = self.chance.choice
        row: Row = {"kind": "VirtualMachine", "name": name, "deleting": pick((False, False, False, True))}
        for role, kinds in _KINDS.items():
            matcher = {"name": pick(("a", "b"))} | pick(({}, {"kind": pick(kinds)}, {"kind": "Foo"}))
            pinned = {"revisionName": pick(("r1", "r2", "r3"))}
            row |= pick(({}, {role: matcher}, {role: matcher | pinned}, {role: {"inferFromVolume": "root"}}))
            row |= pick(({}, {f"{role}Ref": pick(("r1", "r2", "r3"))}))
        return row

    def _vmi(self, name: str, uid: str) -> Row:
        vm = f"VirtualMachine-ns-{name}-{uid}"
        return {"kind": "VirtualMachineInstance", "name": name, "vm": vm, "revision": f"{_START}x"}

    def _other(self, name: str, _: str) -> Row:
        pick = self.chance.choice
        return pick(
            (
                {"kind": "KubeVirt", "name": "a", "version": pick(("v1.4.0", "v1.5.1", "v1.7.1"))},
                {"kind": "VirtualMachineRestore", "name": name, "target": name, "complete": pick((True, False))},
                {"kind": "VirtualMachineSnapshotContent", "name": name, "source": name}
                | {"instancetype": {"name": name, "revisionName": pick(("r1", "r2"))}},
                {"kind": "VirtualMachinePool", "name": name}
                | pick(({"instancetype": {"name": name}}, {"preference": {"name": name, "revisionName": "r1"}})),
            )
        )

    def anew(self) -> tuple[Evaluation, InstancetypeUsage]:
        evaluation, usage = _observed()
        for key in sorted(self.objects):
            evaluation.seen(self.objects[key])
        return evaluation, usage


def _observed() -> tuple[Evaluation, InstancetypeUsage]:
    evaluation = Evaluation(_CHECKS, indexes=instancetypes.READER.indexes)
    usage = InstancetypeUsage(evaluation.engine.cluster)
    evaluation.engine.observe(usage.changed)
    return evaluation, usage


def _known(evaluation: Evaluation, usage: InstancetypeUsage) -> tuple[Any, ...]:
    evaluation.evaluate()
    deque(usage.settle(), 0)
    engine = evaluation.engine
    targets = [(each, dict(usage.modes(each)), usage.pools(each)) for role in ROLES for each in usage.targets(role)]
    report = at_once(instancetypes.steps(engine.cluster, usage, engine.findings(), 1))
    return comparable(engine.findings()), engine.unknowns(), targets, report


@drawn
@pytest.mark.parametrize("seed", range(rounds(5, 40)))
def test_after_a_storm_of_instancetypes(seed: int) -> None:
    storm = _Storm(seed)
    for _ in range(8):
        for _ in range(15):
            storm.act()
        assert _known(storm.evaluation, storm.usage) == _known(*storm.anew())


@drawn
@pytest.mark.parametrize("seed", range(rounds(5, 40)))
def test_what_can_not_be_seen_is_neither_missing_nor_an_orphan(seed: int) -> None:
    storm = _Storm(seed)
    engine = storm.evaluation.engine
    for _ in range(60):
        storm.act()
    storm.evaluation.evaluate()
    read = sorted({kind.name for check in _CHECKS for kind in check.reads} & storm.evaluation.kinds.keys())
    for lost in storm.chance.sample(read, 4):
        blind = {check.id for check in _CHECKS if lost in {kind.name for kind in check.reads}}
        before = {each.fingerprint for each in engine.findings()}
        how = storm.chance.choice(LOST)
        storm.lose(lost, how)
        for _ in range(15):
            storm.act()
        storm.evaluation.evaluate()
        truth, _ = storm.anew()
        truth.evaluate()
        true = {each.fingerprint: each.reason for each in truth.engine.findings()}
        opened = [each for each in engine.findings() if each.check in blind and each.fingerprint not in before]
        assert [each for each in opened if true.get(each.fingerprint) != each.reason] == []
        assert engine.unknown_everywhere() == (blind if how is not SyncState.BEHIND else set())
        storm.list_again(lost)
        assert _known(storm.evaluation, storm.usage) == _known(*storm.anew())


def test_what_goes_leaves_nothing_behind() -> None:
    storm = _Storm(7)
    empty = _known(storm.evaluation, storm.usage)
    for _ in range(300):
        storm.act()
    assert _known(storm.evaluation, storm.usage) != empty
    for key in sorted(storm.objects):
        storm.delete(key)
    assert _known(storm.evaluation, storm.usage) == empty
    cluster = storm.evaluation.engine.cluster
    assert [key for check in _CHECKS for index in check.indexes for key in cluster.keys(index)] == []


def _change_of_one(number: int, **more: Any) -> int:
    """How many evaluations it costs that one of so many VMs changes, which all get the same."""
    evaluation = Evaluation(_CHECKS)
    of = {"apiVersion": _GROUP, "kind": _KINDS["instancetype"][1], "metadata": {"name": "a", "uid": "t1"}, "spec": {}}
    evaluation.seen(full({"kind": "ControllerRevision", "name": "r1", "vm": "vm-0", "owner": "u0", "of": of}))
    vm = {"kind": "VirtualMachine", "instancetype": {"name": "a"}, "runStrategy": "Always"} | more
    for each in range(number):
        evaluation.seen(full(vm | {"name": f"vm-{each}", "uid": f"u{each}"}))
    evaluation.evaluate()
    before = sum(each.partitions for each in evaluation.engine.evaluated.values())
    evaluation.seen(full(vm | {"name": "vm-7", "uid": "u7", "runStrategy": "Halted"}))
    evaluation.evaluate()
    return sum(each.partitions for each in evaluation.engine.evaluated.values()) - before


@pytest.mark.parametrize("more", [{}, {"instancetypeRef": "r1"}, {"instancetype": {"name": "a", "revisionName": "r1"}}])
def test_a_change_of_one_vm_costs_the_same_however_many_share_its_instancetype(more: Row) -> None:
    assert _change_of_one(200, **more) == _change_of_one(20, **more)


def test_vms_that_come_and_go_are_not_remembered_while_nobody_asks() -> None:
    evaluation, usage = _observed()
    for each in range(1000):
        name = f"vm-{each}"
        evaluation.seen(full({"kind": "VirtualMachine", "name": name, "uid": name, "instancetype": {"name": "a"}}))
        evaluation.gone("VirtualMachine", "ns", name)
    assert sum(1 for _ in usage.settle()) == 0  # it stops after each few that it resolves
