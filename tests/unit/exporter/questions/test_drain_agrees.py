"""The check, the preview of a drain and the metric report one evaluation: of every VMI on every node, both ways."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given

from demo.fleet.sample import sample_fleet
from exporter.checks import all_checks
from exporter.checks.drains.evictions import BLOCKED
from exporter.counts.node_drains import STATE, Drains
from exporter.domain.drains.departure import DrainState
from exporter.domain.drains.health import AILMENTS, ailment
from exporter.engine.evaluate import at_once
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.questions import drain
from exporter.questions.drain import VMReport
from exporter.store.kinds.node import Node
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ....all_of import all_of, named, whole
from ....amounts import examples
from ....check_cases import cases_of
from ....drain_rows import Row
from ....engine_rows import departing
from ....evaluation import NOW, Evaluation
from ....rows import full

CHECK = next(check for check in all_checks() if check.id == "evictions")
CASES = {name: case for name, case in cases_of(CHECK).items() if case["finds"] != "unknown"}
# Found beside another reason of the same VMI.
BESIDE = ("ExternalNoHandler", "MigrationOverdue", "NotMigratableWhileCordoned", "PDBWhileCordoned")
# What a drain would meet on a node that is cordoned, and that nobody is seen to drain.
IF_DRAINED = {"NotMigratableIfDrained": ("NotMigratable",), "PDBIfDrained": ("UserPDB", "MultiplePDB")}
# Found beside another reason, or alone.
OR_BESIDE = ("RequestOnSchedulableNode", "RequestByWorkloadUpdate")
HANGING = ("MigrationHanging",)  # beside the failures before it, and with one of those above beside it
# What a drain says before anybody asks a VMI to leave: no finding of the check.
BEFOREHAND = ("NotEvaluated", "NameTooLong", "NotEnded", "SeveralPods", "ExternalNoHandler", *AILMENTS)
PLANNED = ("NoTarget", "NoRoomLeft")
# Blocked for the check once it has lasted; by itself the VMI goes, is shut down, or waits for who manages it.
IN_TIME = {
    "StuckTerminating": {DrainState.TERMINATING},
    "ExternalAwaiting": {DrainState.EXTERNAL, DrainState.BLOCKED},
    "RequestWithUnmanagedStrategy": {DrainState.SHUTS_DOWN},
    "RequestOnSchedulableNode": {DrainState.WAITING},
    "MigrationFailing": {DrainState.BLOCKED, DrainState.MAY_MIGRATE},  # the next one, which nobody has asked for yet
}
# Blocked in the preview once the check has found that it lasts; the metric knows no time, and it migrates, or waits for
# the controller that the report names.
LASTS = {"MigrationHanging": DrainState.MIGRATING, "TargetNotStarting": DrainState.MIGRATING}


def _planned(finding: Finding, vm: VMReport) -> bool:
    """Whether the plan knows more than the check: migrations failed, and no node takes the VMI any more."""
    return finding.reason == "MigrationFailing" and vm.reason in PLANNED


def _folded(states: Counter[DrainState]) -> Counter[DrainState]:
    folded = Counter(states)
    folded[DrainState.WAITING] += folded.pop(DrainState.MAY_MIGRATE, 0)
    return folded


def one_of_each(found: list[Finding]) -> dict[tuple[str, Ref], Finding]:
    by_subject = {(f.node, f.subject): f for f in found}
    assert len(by_subject) == len(found)
    return by_subject


class Surfaces(Evaluation):
    """The three over one cluster."""

    def __init__(self, now: float = NOW) -> None:
        super().__init__([CHECK], now=now, indexes=(*drain.INDEXES, *STATE.indexes))
        self.drains = Drains(self.engine.cluster)
        self.engine.observe(self.drains.changed)

    def findings(self) -> dict[tuple[str, Ref], Finding]:
        """The one of each VMI and orphaned pod that says what becomes of it, by node."""
        self.evaluate()
        found = [f for f in self.engine.findings() if f.reason not in BESIDE and f.subject.kind != "Node"]
        said: dict[tuple[str, Ref], Finding] = {}
        others = [f for f in found if f.reason not in (*OR_BESIDE, *HANGING)]
        for group in ([f for f in found if f.reason in reasons] for reasons in (OR_BESIDE, HANGING)):
            said |= one_of_each(group)
        return said | one_of_each(others)

    def reports(self) -> dict[tuple[str, Ref], VMReport]:
        self.evaluate()
        engine = self.engine
        nodes = [node.name for node in engine.cluster.all(Node)]
        drained = at_once(drain.steps(engine.cluster, nodes, engine.findings(), engine.generation))
        rows = [(node.node, vm) for node in drained.nodes for vm in node.vms]
        by_vm = {(node, vm.vm): vm for node, vm in rows}
        assert len(by_vm) == len(rows)
        return by_vm

    def left(self) -> dict[str, Counter[DrainState]]:
        list(self.drains.settle())
        return self.drains.left()

    def agree(self) -> None:
        findings, reports, left = self.findings(), self.reports(), self.left()
        self._findings_are_in_reports(findings, reports)
        self._reports_are_in_findings(findings, reports, set(left))
        counted: dict[str, Counter[DrainState]] = {name: Counter() for name in left}
        planned = {node for (node, _), vm in reports.items() if vm.reason in PLANNED}
        for (node, ref), vm in reports.items():
            if ref.kind == "VirtualMachineInstance" and vm.state is not DrainState.ARRIVING and node in left:
                state = LASTS.get(vm.reason, vm.state)
                ails = ailment(self.engine.cluster.get(Node, "", node)) is not None
                if vm.reason == "ExternalAwaiting" and vm.to and not ails:
                    state = DrainState.EXTERNAL
                counted[node][DrainState.WAITING if vm.reason in PLANNED else state] += 1
        # The metric knows no plan: what has no room waits there, or may migrate where its last migrations failed.
        left = {node: _folded(states) if node in planned else states for node, states in left.items()}
        assert {node: _folded(states) if node in planned else states for node, states in counted.items()} == left
        self._each_once(reports)

    def _findings_are_in_reports(
        self, findings: dict[tuple[str, Ref], Finding], reports: dict[tuple[str, Ref], VMReport]
    ) -> None:
        nodes = {node.name for node in self.engine.cluster.all(Node)}
        for at, finding in findings.items():
            if at[0] not in nodes:
                continue
            vm = reports[at]
            if _planned(finding, vm):
                assert (vm.state, bool(vm.room)) == (DrainState.BLOCKED, True)
                continue
            assert vm.reason in IF_DRAINED.get(finding.reason, (finding.reason,))
            assert vm.why == finding.message
            shown = self.engine.restraints.applied(finding)
            assert vm.commands == shown.commands
            # On a cordon alone a finding asks first whether a drain is meant, and a preview is of a drain.
            assert vm.next == shown.next or finding.reason in IF_DRAINED
            if CHECK.reasons[finding.reason].family.name == BLOCKED:
                ails = ailment(self.engine.cluster.get(Node, "", at[0])) is not None  # whatever time may do elsewhere
                in_time = IN_TIME.get(finding.reason, {DrainState.BLOCKED})
                assert vm.state in in_time | ({DrainState.BLOCKED} if ails else set())

    def _reports_are_in_findings(
        self, findings: dict[tuple[str, Ref], Finding], reports: dict[tuple[str, Ref], VMReport], closed: set[str]
    ) -> None:
        draining = {f.node for f in self.engine.findings() if f.reason == "NodeDrainResidual"}
        for at, vm in reports.items():
            if vm.reason in (*BEFOREHAND, *PLANNED, ""):
                assert at not in findings or _planned(findings[at], vm)
                assert vm.state is not DrainState.BLOCKED or vm.reason
            elif at[0] in draining or self._asked(vm.vm) or vm.reason in ("StuckTerminating", "OrphanLauncherPod"):
                assert at in findings, vm
            else:  # no drain detected: only what would hold up a drain of a cordoned node is reported
                would_block = any(vm.reason in reasons for reasons in IF_DRAINED.values())
                assert (at in findings) == (would_block and at[0] in closed), vm

    def _asked(self, ref: Ref) -> bool:
        vmi = self.engine.cluster.get(VirtualMachineInstance, ref.namespace, ref.name)
        return vmi is not None and bool(vmi.evacuation)

    def _each_once(self, reports: dict[tuple[str, Ref], VMReport]) -> None:
        there = {node.name for node in self.engine.cluster.all(Node)}
        counts = Counter(ref for (_, ref), vm in reports.items() if vm.state is not DrainState.ARRIVING)
        for vmi in self.engine.cluster.all(VirtualMachineInstance):
            if vmi.node in there and not vmi.final:
                assert counts[vmi.ref] == 1, vmi


@all_of(named(CASES, str), whole)
def test_the_three_agree_on_every_case_of_the_check(name: str) -> None:
    surfaces = Surfaces(NOW + 86400)  # past all graces
    surfaces.given(CASES[name]["given"])
    surfaces.agree()


@pytest.mark.long
@examples(2)
@given(departing())
def test_the_three_agree_on_any_fleet(rows: list[Row]) -> None:
    surfaces = Surfaces()
    for row in rows:
        surfaces.seen(full(row))
    surfaces.agree()


def test_the_three_agree_on_the_sample_fleet() -> None:
    now = datetime.now(UTC)
    surfaces = Surfaces(now.timestamp())
    for thing in sample_fleet(now).objects:
        if thing["kind"] in surfaces.kinds:
            surfaces.seen(thing)
    surfaces.agree()

    on_node05 = {ref.name: (vm.state, vm.reason) for (node, ref), vm in surfaces.reports().items() if node == "node05"}
    assert on_node05 == {
        "oracle-1": (DrainState.BLOCKED, "NotMigratable"),
        "trainer-big": (DrainState.BLOCKED, "TargetUnschedulable"),
        "hss-legacy": (DrainState.BLOCKED, "MigrationFailing"),
        "queue-1": (DrainState.BLOCKED, "UserPDB"),
        "tenant-worker-2": (DrainState.BLOCKED, "ExternalAwaiting"),
        "web-canary": (DrainState.MIGRATING, ""),
    }
    on_node05["tenant-worker-2"] = (DrainState.EXTERNAL, "")  # the metric knows no time
    assert surfaces.left()["node05"] == Counter(state for state, _ in on_node05.values())


def test_there_is_something_to_agree_on() -> None:
    reasons = {found["reason"] for case in CASES.values() for found in case["finds"]}
    assert {name for name, reason in CHECK.reasons.items() if reason.family.name == BLOCKED} <= reasons
