"""A change that concerns more partitions than are noted one by one: evaluated in steps, and none is lost."""

from __future__ import annotations

import itertools
from typing import Any

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.store.source import SyncState
from tests.evaluation import NOW, api_kinds, decoded
from tests.rows import full

VMS = 2500
CHECK = next(each for each in all_checks() if each.id == "feature_mismatch")


class Fleet:
    """VMs that ask for DownwardMetrics, and an engine that evaluates a few of them in a step."""

    def __init__(self) -> None:
        ticks = itertools.count()
        self.engine = Engine([CHECK], clock=lambda: NOW, timer=lambda: next(ticks) * 1e-3, initial=True)
        self.intake, self.kinds = Intake(self.engine, lambda: NOW), api_kinds()
        for kind in self.kinds.values():
            self.intake.sync_state(kind, SyncState.LIVE)

    def seen(self, thing: dict[str, Any]) -> None:
        kind = self.kinds[thing["kind"]]
        self.intake.seen(kind, decoded(kind, thing))

    def gate(self, *, on: bool) -> None:
        gates = ["DownwardMetrics"] if on else []
        self.seen(full({"kind": "KubeVirt", "name": "k", "namespace": "k", "version": "v1.8.4", "gates": gates}))

    def steps(self) -> int:
        """Evaluates all that is due, in so many steps."""
        return 1 + sum(1 for _ in iter(self.engine.step, False))

    def found(self) -> set[str]:
        return {finding.subject.name for finding in self.engine.findings()}


def vm(number: int, *, asks: bool = True) -> dict[str, Any]:
    devices: dict[str, Any] = {"downwardMetrics": {}} if asks else {}
    where = {"namespace": f"ns-{number % 5}", "name": f"vm-{number}", "uid": f"u{number}"}
    return full({"kind": "VirtualMachine", "domain": {"devices": devices}, **where})


def unreadable() -> dict[str, Any]:
    vmi = full({"kind": "VirtualMachineInstance", "namespace": "ns-1", "name": "other", "node": "node01"})
    vmi["metadata"]["creationTimestamp"] = {"not": "a time"}
    return vmi


def fleet() -> Fleet:
    made = Fleet()
    made.gate(on=True)
    for number in range(VMS):
        made.seen(vm(number))
    made.steps()
    assert made.found() == set()
    return made


def evaluated(of: Fleet) -> int:
    return of.engine.evaluated[CHECK.id].partitions


def test_a_gate_goes_off_and_each_vm_is_evaluated_once_in_many_steps() -> None:
    made = fleet()
    before = evaluated(made)
    made.gate(on=False)

    assert not made.engine.caught_up
    assert made.steps() > 100
    assert made.engine.caught_up
    assert evaluated(made) - before == VMS
    assert made.found() == {f"vm-{number}" for number in range(VMS)}


def test_changes_in_the_midst_of_it_cost_no_second_round_and_are_not_lost() -> None:
    made = fleet()
    before = evaluated(made)
    made.gate(on=False)
    for _ in range(50):
        made.engine.step()
    done = evaluated(made) - before
    assert 0 < done < VMS / 2
    made.seen(vm(0, asks=False))
    made.seen(vm(VMS - 1, asks=False))
    made.gate(on=True)
    made.gate(on=False)
    made.steps()

    assert evaluated(made) - before == VMS + done
    assert made.found() == {f"vm-{number}" for number in range(1, VMS - 1)}


def test_what_an_object_hides_meanwhile_has_its_answer_when_that_is_gone() -> None:
    made = fleet()
    made.gate(on=False)
    for _ in range(50):
        made.engine.step()
    made.seen(unreadable())
    made.gate(on=True)
    made.steps()
    hidden = {each.partition for each in made.engine.unknowns()}
    made.gate(on=False)
    made.steps()
    shown = made.found()
    made.intake.gone(made.kinds["VirtualMachineInstance"], "ns-1", "other")
    made.steps()

    assert hidden == {"ns-1"}
    assert {f"vm-{number}" for number in range(VMS) if number % 5 != 1} <= shown
    assert made.found() == {f"vm-{number}" for number in range(VMS)}
    assert made.engine.unknowns() == []
    assert made.engine.caught_up
