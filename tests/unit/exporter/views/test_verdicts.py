"""The verdict on an act says every open finding that forbids it, and never more than was looked at."""

from __future__ import annotations

from typing import Any

import msgspec

from exporter.cli.output.vm import whole_vm
from exporter.domain.acts import Act
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.source import SyncState
from exporter.views import vm
from exporter.views.vm import Verdict
from exporter.views.vm.verdicts import verdicts
from tests.all_of import each_of, named
from tests.check_cases import CASES_OF, CHECKS
from tests.drain_rows import node
from tests.evaluation import Evaluation
from tests.one_vm import OneVMStage, running
from tests.rows import full

# Whoever may not stop or start a VM may not restart it either.
COVERS = {
    "start": {Act.START, Act.RESTART},
    "restart": {Act.START, Act.STOP, Act.RESTART, Act.END},
    "migrate": {Act.MIGRATE},
}
FORBIDDING = [
    check
    for check in CHECKS
    if any(each.forbids and set().union(*COVERS.values()) & set(each.forbids.acts) for each in check.reasons.values())
]


def _stage(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check], case.get("unsynced", ()), indexes=vm.INDEXES)
    for name, state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(state))
    evaluation.given(case["given"])
    evaluation.evaluate()
    return evaluation


def _with_its_vms(evaluation: Evaluation) -> Evaluation:
    """Of a finding on a VMI that stands alone, or on a pod whose VM is gone: the VM is there, too."""
    for each in list(evaluation.engine.findings()):
        name = each.vm or each.subject.name
        if (
            each.forbids
            and each.subject.kind != "Node"
            and not evaluation.engine.cluster.get(VirtualMachine, each.subject.namespace, name)
        ):
            row = {"kind": "VirtualMachine", "namespace": each.subject.namespace, "name": name, "uid": f"vm-{name}"}
            evaluation.seen(full(row | {"runStrategy": "Always"}))
    evaluation.evaluate()
    return evaluation


def _of_vms(evaluation: Evaluation) -> dict[tuple[str, str], list[Finding]]:
    """The findings that forbid something, by their VM, where that is there."""
    found: dict[tuple[str, str], list[Finding]] = {}
    cluster = evaluation.engine.cluster
    for each in evaluation.engine.findings():
        keys = [(each.subject.namespace, each.vm or each.subject.name)]
        if each.subject.kind == "Node":  # it is about each VM there
            here = (vmi for vmi in cluster.all(VirtualMachineInstance) if vmi.node == each.subject.name)
            keys = [(vmi.namespace, vmi.name) for vmi in here]
        for key in keys:
            there = any(cluster.get(kind, *key) for kind in (VirtualMachine, VirtualMachineInstance))
            if each.forbids is not None and each.forbids.acts and there:
                found.setdefault(key, []).append(each)
    return found


def said(verdicts: tuple[Verdict, ...], finding: Finding, text: str) -> set[str]:
    """The acts that it forbids, once all verdicts on these say so."""
    assert finding.forbids is not None
    acts = set()
    for each in verdicts:
        if COVERS[each.act].isdisjoint(finding.forbids.acts):
            continue
        assert each.answer == "no", (each, finding.reason)
        assert finding.reason in {one.reason for one in each.reasons}, (each, finding.reason)
        assert finding.forbids.why in each.sentence
        assert f"Do not {each.act} it: " in text
        assert f"({finding.reason})" in text
        acts.add(each.act)
    return acts


@each_of("check", named(FORBIDDING, lambda check: check.id))
def test_each_reason_that_forbids_an_act_is_said_in_each_of_its_cases(check: Check) -> None:
    silent = {
        name
        for name, each in check.reasons.items()
        if each.forbids and set().union(*COVERS.values()) & set(each.forbids.acts)
    }
    for case in CASES_OF[check].values():
        if case["finds"] == []:
            continue
        for given in (lambda same: same, _with_its_vms):
            evaluation = given(_stage(check, case))
            for key, findings in _of_vms(evaluation).items():
                found = vm.take(evaluation.engine, *key)
                text = whole_vm(found, 10_000)
                silent -= {each.reason for each in findings if said(found.verdicts, each, text)}
    assert silent == set()


def answers(stage: OneVMStage) -> dict[str, str]:
    return {each.act: each.answer for each in stage.take().verdicts}


def test_what_stands_in_nobodys_way() -> None:
    assert answers(OneVMStage(*running())) == {"restart": "yes", "migrate": "yes"}
    halted = running()[0] | {"runStrategy": "Halted"}
    assert answers(OneVMStage(halted)) == {"start": "yes"}
    assert "It can be started." in whole_vm(OneVMStage(halted).take())


def test_a_restart_after_which_it_is_another_is_forbidden_by_its_finding() -> None:
    other, vmi, pod = running()
    found = OneVMStage(other | {"uuid": "22222222-2222-4333-8444-000000000097"}, vmi, pod).take()
    assert {each.act: each.answer for each in found.verdicts} == {"restart": "no", "migrate": "yes"}
    assert "firmware UUID becomes" in whole_vm(found, 10_000)


def test_what_nothing_forbids_and_changes_it_is_a_yes_with_changes() -> None:
    found = OneVMStage(*running()).take()
    assert found.restart is not None
    for changed in ({"identity": "another"}, {"revisions": ("a copy",)}):
        restart = msgspec.structs.replace(found.restart, **changed)
        said = verdicts(msgspec.structs.replace(found, restart=restart), (), (), ())
        assert [(each.act, each.answer) for each in said] == [("restart", "changes"), ("migrate", "yes")]
        assert said[0].sentence == "It can be restarted, with changes."


def test_without_a_node_it_is_no() -> None:
    stage = OneVMStage(*running(), nodes=[node("node01", taints=["gpu:NoSchedule"])])
    (restart, migrate) = stage.take().verdicts
    assert (restart.answer, migrate.answer) == ("no", "no")
    assert "no other node could take it" in migrate.sentence


def test_what_is_not_seen_is_no_yes() -> None:
    for kind in ("Node", "KubeVirt", "VirtualMachineInstance"):
        found = OneVMStage(*running(), unseen=[kind]).take()
        assert {each.answer for each in found.verdicts} <= {"unknown", "no"}, kind
        assert "could take it" not in " ".join(each.sentence for each in found.verdicts if each.answer == "unknown")
    assert answers(OneVMStage(*running(migratable="Unknown"))) == {"restart": "yes", "migrate": "unknown"}
