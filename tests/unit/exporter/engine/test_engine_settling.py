"""Crowds that become dirty one after the other: each settles, and the oldest has its turn first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.facts.record import Record
from exporter.findings.check import PER_VM, Check, Family, Reason, View
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.kube.watch.listing import Decoder
from exporter.store.index import ByName, Index
from exporter.store.kind import ApiKind
from exporter.store.kinds.kube_virt import KIND as KUBEVIRT
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.source import SyncState
from tests.evaluation import NOW
from tests.rows import full

KIND = VirtualMachineInstance.KIND
REASONS = {"Odd": Reason((Severity.INFO,), "Odd.", Family("x", "X."))}
SETTLE, MANY = 0.25, 501


def _node(record: Record, _: ByName) -> tuple[str, ...]:
    return (record.node,) if isinstance(record, VirtualMachineInstance) else ()


class Nodes:
    """VMIs that are evaluated again when any VMI of their node changed, on a timer that is set by hand."""

    def __init__(self) -> None:
        self.timer = 0.0
        self.evaluated: list[str] = []
        node = Index("node of a VMI", _node, of=(VirtualMachineInstance,))
        check = Check("x", "X", (KIND,), PER_VM, REASONS, self._find, looks_up=(node,))
        self.engine = Engine([check], clock=lambda: NOW, timer=lambda: self.timer, settle=SETTLE, initial=True)
        self.intake = Intake(self.engine, lambda: NOW)
        self.intake.sync_state(KIND, SyncState.LIVE)
        self._decoder = Decoder(KIND)

    def _find(self, view: View) -> Iterator[Finding]:
        self.evaluated.append(view.partition)
        for vmi in view.all(VirtualMachineInstance):
            if vmi.phase == "Odd":
                yield Finding(reason="Odd", severity=Severity.INFO, subject=vmi.ref, message="m")

    def seen(self, node: str, number: int, **row: str) -> None:
        vmi = full({"kind": "VirtualMachineInstance", "name": f"{node}-{number}", "node": node} | row)
        self.intake.seen(KIND, self._decoder.object(msgspec.json.encode(vmi)))

    def filled(self, **nodes: int) -> None:
        """So many VMIs on each node, all of them evaluated."""
        for node, count in nodes.items():
            for number in range(count):
                self.seen(node, number)
        self.looks_at(5.0)

    def looks_at(self, timer: float) -> list[str]:
        """The nodes whose VMIs are evaluated then, in order, and how many of them."""
        self.timer = timer
        self.evaluated.clear()
        while self.engine.step():
            pass
        found: dict[str, int] = {}
        for each in self.evaluated:
            node = each.removeprefix("ns/").partition("-")[0]
            found[node] = found.get(node, 0) + 1
        return [f"{node} {count}" for node, count in found.items()]

    def changes(self, at: float, node: str, phase: str = "Scheduled") -> None:
        self.timer = at
        self.seen(node, 0, phase=phase)


def three() -> Nodes:
    nodes = Nodes()
    nodes.filled(a=MANY, b=1, c=MANY)
    nodes.changes(10.0, "a")
    nodes.changes(10.1, "b")
    nodes.changes(10.2, "c")
    return nodes


def test_each_crowd_settles_however_many_wait_before_it() -> None:
    nodes = three()
    assert nodes.looks_at(10.24) == []
    assert nodes.looks_at(10.26) == [f"a {MANY}"]
    assert nodes.looks_at(10.36) == ["b 1"]
    assert nodes.looks_at(10.46) == [f"c {MANY}"]
    assert nodes.engine.caught_up


def test_a_crowd_that_became_dirty_first_holds_up_no_other() -> None:
    nodes = three()
    assert sorted(nodes.looks_at(11.0)) == [f"a {MANY}", "b 1", f"c {MANY}"]
    assert {each.removeprefix("ns/")[0] for each in nodes.evaluated[:8]} == {"a", "b", "c"}


def test_a_vmi_that_comes_while_its_crowd_waits_settles_itself() -> None:
    nodes = Nodes()
    nodes.filled(a=MANY)
    nodes.changes(10.0, "a")
    nodes.timer = 10.2
    nodes.seen("a", MANY)
    assert nodes.looks_at(10.26) == [f"a {MANY}"]
    assert nodes.looks_at(10.46) == ["a 1"]


def test_a_crowd_in_which_something_changes_all_the_time_starves_nobody() -> None:
    nodes = Nodes()
    nodes.filled(a=MANY, b=1)
    nodes.changes(9.995, "b")
    looks = []
    for turn in range(30):
        nodes.changes(10.0 + turn / 100, "a", phase=f"phase {turn}")
        looks += nodes.looks_at(10.0 + turn / 100)
    assert sorted(looks[:2]) == [f"a {MANY}", "b 1"]


def test_what_was_evaluated_before_another_change_of_its_crowd_is_evaluated_after_it() -> None:
    """KubeVirt changes twice while its change settles, and one VMI has its own turn between the two."""
    timer, found = 0.0, dict[str, str]()

    def find(view: View) -> Iterator[Finding]:
        for vmi in view.all(VirtualMachineInstance):
            found[vmi.name] = view.all(KubeVirt)[0].version
            yield Finding(reason="Odd", severity=Severity.INFO, subject=vmi.ref, message="m")

    check = Check("x", "X", (KIND, KUBEVIRT), PER_VM, REASONS, find)
    engine = Engine([check], clock=lambda: NOW, timer=lambda: timer, settle=SETTLE, initial=True)
    intake = Intake(engine, lambda: NOW)

    def seen(of: ApiKind[Any], **row: object) -> None:
        intake.seen(of, Decoder(of).object(msgspec.json.encode(full({"kind": of.name} | row))))

    def evaluate() -> None:
        while engine.step():
            pass

    for kind in (KIND, KUBEVIRT):
        intake.sync_state(kind, SyncState.LIVE)
    seen(KUBEVIRT, name="kubevirt", version="v1.5.0")
    for number in range(MANY):
        seen(KIND, name=f"vmi-{number}")
    timer = 5.0
    evaluate()
    assert set(found.values()) == {"v1.5.0"}

    timer = 10.0
    seen(KIND, name="vmi-0", phase="Scheduled")
    timer = 10.1
    seen(KUBEVIRT, name="kubevirt", version="v1.6.0")
    timer = 10.3
    evaluate()  # of one VMI
    seen(KUBEVIRT, name="kubevirt", version="v1.7.0")
    timer = 11.0
    evaluate()

    assert set(found.values()) == {"v1.7.0"}
