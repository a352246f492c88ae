"""An object that can't be read leaves those checks without an answer that it may count in, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.engine.affected import everything
from exporter.engine.evaluate import Outcome, evaluate
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.store.kind import ApiKind
from tests.check_cases import cases_of, evaluated
from tests.evaluation import Evaluation
from tests.rows import CLUSTER_WIDE, full

CHECKS = {check.id: check for check in all_checks()}
STACK = CHECKS["ipam_stack"]
CLAIMS = CHECKS["ipam_claims"]


def outcomes(evaluation: Evaluation, check: Check) -> set[Outcome]:
    cluster = evaluation.engine.cluster
    return {evaluate(check, cluster, partition).outcome for partition in everything(check, cluster)}


def without_a_namespace() -> Iterator[Any]:
    """Each check with the kinds it reads whose objects are in no namespace."""
    for check in all_checks():
        for kind in check.reads:
            if isinstance(kind, ApiKind) and kind.name in CLUSTER_WIDE and kind.name != "Namespace":
                yield pytest.param(check, kind.name, id=f"{check.id}-{kind.name}")


def odd(kind: str, **row: Any) -> dict[str, Any]:
    thing = full({"kind": kind, "name": "odd", "namespace": "elsewhere", "webhook": "x", "node": "node01", **row})
    thing["metadata"]["creationTimestamp"] = {"not": "a time"}
    return thing


def finding(check: Check) -> Iterator[Evaluation]:
    """The cases of a check that find something."""
    for case in cases_of(check).values():
        if case["finds"] and case["finds"] != "unknown" and "unknown_in" not in case and "sync_state" not in case:
            evaluation = evaluated(check, case)
            if not evaluation.engine.unknowns():
                yield evaluation


def shown(evaluation: Evaluation) -> list[Finding]:
    evaluation.evaluate()
    return sorted(evaluation.engine.findings(), key=lambda each: each.fingerprint)


@pytest.mark.parametrize(("check", "kind"), list(without_a_namespace()))
def test_an_object_in_no_namespace_leaves_every_partition_without_an_answer(check: Check, kind: str) -> None:
    evaluation = next(finding(check))
    before = shown(evaluation)
    evaluation.seen(odd(kind))

    assert outcomes(evaluation, check) == {Outcome.UNKNOWN}
    assert {(each.check, each.partition) for each in evaluation.engine.unknowns()} == {(check.id, "")}
    for each in before:
        assert evaluation.engine.unknown_of(each).startswith(f"{kind} odd could not be read: ")
    # What goes meanwhile has nobody who looked and found it gone.
    held = [
        record
        for each in check.reads
        if isinstance(each, ApiKind)
        for record in evaluation.engine.cluster.all(each.record)
    ]
    for record in held:
        evaluation.gone(type(record).__name__, record.namespace, record.name)
    assert shown(evaluation) == before

    evaluation.gone(kind, "", "odd")
    assert shown(evaluation) == []
    assert evaluation.engine.unknowns() == []


def test_there_are_such_checks() -> None:
    assert {check.id for check, _ in (each.values for each in without_a_namespace())} >= {
        "evictions",
        "ipam_namespaces",
        "ipam_networks",
        "ipam_stack",
        "node_identity",
    }


def test_a_check_of_the_whole_cluster_has_no_answer_while_an_object_of_any_namespace_can_not_be_read() -> None:
    assert STACK.scope.whole
    evaluation = next(finding(STACK))
    before = shown(evaluation)
    evaluation.seen(odd("Deployment"))
    assert outcomes(evaluation, STACK) == {Outcome.UNKNOWN}
    assert evaluation.engine.unknown_of(before[0]).startswith("Deployment elsewhere/odd could not be read: ")
    evaluation.gone("Deployment", before[0].subject.namespace, before[0].subject.name)
    assert shown(evaluation) == before

    evaluation.gone("Deployment", "elsewhere", "odd")
    assert evaluation.engine.unknowns() == []
    assert before[0].fingerprint not in {each.fingerprint for each in shown(evaluation)}


def test_a_check_of_the_whole_cluster_does_not_open_what_it_can_not_see_whole() -> None:
    evaluation = Evaluation([STACK])
    evaluation.seen(odd("Deployment"))
    evaluation.seen(full({"kind": "Deployment", "name": "kubevirt-ipam-controller-manager", "ready": 0, "replicas": 1}))
    assert evaluation.found() == []
    assert evaluation.engine.unknowns()


def test_an_object_of_another_namespace_hides_nothing_here() -> None:
    evaluation = next(finding(CLAIMS))
    before = shown(evaluation)
    evaluation.seen(odd("VirtualMachine"))
    assert shown(evaluation) == before
    assert [each.partition for each in evaluation.engine.unknowns()] == ["elsewhere"]
    assert [evaluation.engine.unknown_of(each) for each in before] == [""] * len(before)


def test_an_object_of_a_kind_that_a_check_does_not_read_hides_nothing() -> None:
    evaluation = next(finding(STACK))
    before = shown(evaluation)
    evaluation.seen(odd("Node"))
    evaluation.seen(odd("VirtualMachine"))
    assert shown(evaluation) == before
    assert evaluation.engine.unknowns() == []


def test_one_of_two_that_can_not_be_read_is_enough() -> None:
    evaluation = next(each for each in finding(CLAIMS) if shown(each)[0].reason == "OrphanClaim")
    before = shown(evaluation)
    for name in ("odd", "odder"):
        evaluation.seen(odd("VirtualMachine", namespace="ns", name=name))
    evaluation.gone("VirtualMachine", "ns", "odd")
    evaluation.seen(full({"kind": "VirtualMachine", "name": "db", "uid": "u1"}))  # no orphan any more
    assert shown(evaluation) == before
    evaluation.seen(full({"kind": "VirtualMachine", "name": "odder"}))
    assert "OrphanClaim" not in {each.reason for each in shown(evaluation)}


def test_it_says_which_nodes_and_networks_have_no_answer_beyond_the_namespace() -> None:
    evaluation = Evaluation([CHECKS["evictions"], CHECKS["ipam_networks"], CLAIMS])
    for number in range(8):
        evaluation.seen(full({"kind": "Node", "name": f"node{number}"}))
        on = {"namespace": "elsewhere", "node": f"node{number}"}
        evaluation.seen(full({"kind": "Pod", "name": f"web-{number}", **on}))
    for namespace in ("elsewhere", "ns"):
        evaluation.seen(full({"kind": "NetworkAttachmentDefinition", "namespace": namespace, "name": "blue"}))
    evaluation.evaluate()
    assert evaluation.engine.unknowns() == []

    evaluation.seen(odd("Pod"))
    evaluation.evaluate()
    why = {each.check: each.why for each in evaluation.engine.unknowns() if each.why.startswith("no answer either")}
    assert why == {
        "evictions": "no answer either where objects of this namespace count (one node): "
        "node0, node1, node2, node3, node4, 3 more",
        "ipam_networks": "no answer either where objects of this namespace count (one network): tenantblue",
    }
    assert {each.partition for each in evaluation.engine.unknowns()} == {"elsewhere"}

    evaluation.gone("Pod", "elsewhere", "odd")
    assert evaluation.engine.unknowns() == []


def test_a_partition_without_an_answer_is_not_named_beside_the_object_that_hides_it_since() -> None:
    check = CHECKS["feature_mismatch"]
    devices: dict[str, Any] = {"downwardMetrics": {}}
    asking = full({"kind": "VirtualMachine", "namespace": "elsewhere", "name": "db", "domain": {"devices": devices}})
    seen, other_order = Evaluation([check]), Evaluation([check])

    seen.seen(asking)
    seen.evaluate()
    assert [(each.partition, each.why) for each in seen.engine.unknowns()] == [
        ("elsewhere/db", "no KubeVirt object is deployed")
    ]
    seen.seen(odd("VirtualMachineInstance"))
    other_order.seen(odd("VirtualMachineInstance"))
    other_order.seen(asking)
    seen.evaluate()
    other_order.evaluate()
    assert seen.engine.unknowns() == other_order.engine.unknowns()
    assert [each.partition for each in seen.engine.unknowns()] == ["elsewhere"]
    seen.gone("VirtualMachineInstance", "elsewhere", "odd")
    seen.evaluate()
    assert [each.partition for each in seen.engine.unknowns()] == ["elsewhere/db"]
