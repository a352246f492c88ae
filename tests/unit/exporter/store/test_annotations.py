"""An annotation that can't be read: what is not known without it, where that is said, and when it ends."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.facts.annotations import Faults, moment
from exporter.findings.severity import Severity
from exporter.store.kinds.pod import Pod
from tests.evaluation import Evaluation
from tests.rows import full

CHECKS = {check.id: check for check in all_checks()}
NONSENSE = {"k8s.ovn.org/pod-networks": "{nonsense"}
ROWS: tuple[dict[str, Any], ...] = (
    {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"},
    {"kind": "VirtualMachine", "name": "db", "uid": "u1"},
    {"kind": "VirtualMachineInstance", "name": "db", "uid": "i1", "vm": "u1"},
    {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/16"]},
)
LAUNCHER = {"kind": "Pod", "name": "launcher", "domain": "db", "claims": ["db.blue"]}
SENTENCE = "Pod ns/launcher: annotation k8s.ovn.org/pod-networks could not be read: the JSON is not well-formed"


def drifted() -> Evaluation:
    evaluation = Evaluation([CHECKS["ipam_claims"]])
    for row in ROWS:
        evaluation.seen(full(row))
    evaluation.seen(full({**LAUNCHER, "addresses": {"ns/blue": ["10.0.0.9/16"]}}))
    return evaluation


def test_what_was_found_stays_and_says_why_it_may_be_old() -> None:
    evaluation = drifted()
    assert [found[2] for found in evaluation.found()] == ["IpDrift"]

    evaluation.seen(full({**LAUNCHER, "annotations": NONSENSE}))
    assert [found[2] for found in evaluation.found()] == ["IpDrift"]
    (finding,) = evaluation.engine.findings()
    assert evaluation.engine.unknown_of(finding).startswith(SENTENCE)
    (unknown,) = evaluation.engine.unknowns()
    assert (unknown.check, unknown.partition) == ("ipam_claims", "ns/db")
    assert unknown.why.startswith(SENTENCE)

    evaluation.seen(full({**LAUNCHER, "addresses": {"ns/blue": ["10.0.0.5/16"]}}))
    assert evaluation.found() == []
    assert evaluation.engine.unknowns() == []


def test_it_ends_with_the_object() -> None:
    evaluation = drifted()
    evaluation.seen(full({**LAUNCHER, "annotations": NONSENSE}))
    evaluation.evaluate()
    assert evaluation.engine.unknowns()
    evaluation.gone("Pod", "ns", "launcher")
    assert evaluation.found() == []
    assert evaluation.engine.unknowns() == []


def test_nobody_waits_for_it_and_it_is_no_error_of_the_check(caplog: pytest.LogCaptureFixture) -> None:
    evaluation = Evaluation(all_checks())
    for row in (*ROWS, {**LAUNCHER, "annotations": NONSENSE}):
        evaluation.seen(full(row))
    evaluation.evaluate()
    assert evaluation.engine.ready
    assert evaluation.engine.caught_up
    assert {each.check for each in evaluation.engine.unknowns()} == {"ipam_claims"}
    assert all(cost.errors == 0 for cost in evaluation.engine.evaluated.values())
    assert caplog.records == []


def test_a_thousand_of_them_are_a_thousand_findings_and_nothing_else() -> None:
    evaluation = Evaluation(all_checks())
    for row in ROWS:
        evaluation.seen(full(row))
    evaluation.seen(full({"kind": "Node", "name": "node01"}))
    for number in range(1000):
        evaluation.seen(full({"kind": "Pod", "name": f"web-{number}", "annotations": NONSENSE}))
    evaluation.evaluate()
    assert evaluation.engine.unknowns() == []
    found = [each for each in evaluation.engine.findings() if each.check == "annotations"]
    assert len(found) == 1000
    assert {each.severity for each in found} == {Severity.INFO}


def test_a_finding_names_the_annotation_and_how_to_read_it() -> None:
    evaluation = Evaluation([CHECKS["annotations"]])
    evaluation.seen(full({"kind": "Pod", "name": "web", "annotations": NONSENSE}))
    evaluation.evaluate()
    (finding,) = evaluation.engine.findings()
    assert finding.evidence == {"annotations": ["k8s.ovn.org/pod-networks"]}
    assert finding.message.startswith("Annotation k8s.ovn.org/pod-networks can't be read: ")
    assert finding.commands == ("kubectl get pods -n ns web -o yaml",)
    before = evaluation.engine.evaluated["annotations"].partitions

    evaluation.seen(full({"kind": "Pod", "name": "web", "annotations": NONSENSE, "phase": "Pending"}))
    evaluation.evaluate()
    assert evaluation.engine.evaluated["annotations"].partitions == before  # of other facts nothing depends

    evaluation.seen(full({"kind": "Pod", "name": "web"}))
    assert evaluation.found() == []
    assert evaluation.engine.cluster.get(Pod, "ns", "web") is not None


@pytest.mark.parametrize("mended", [True, False])
def test_it_ends_while_another_object_hides_its_partition(mended: bool) -> None:
    evaluation = drifted()
    evaluation.seen(full({**LAUNCHER, "annotations": NONSENSE}))
    evaluation.evaluate()
    evaluation.seen(full({"kind": "Pod", "name": "hides", "undecodable": True}))
    if mended:
        evaluation.seen(full({**LAUNCHER, "addresses": {"ns/blue": ["10.0.0.5/16"]}}))
    else:
        evaluation.gone("Pod", "ns", "launcher")
        for row in reversed(ROWS):
            evaluation.gone(row["kind"], "ns", row["name"])
    evaluation.evaluate()
    assert {each.partition for each in evaluation.engine.unknowns()} == {"ns"}
    assert not any(each.why.startswith("Pod ns/launcher") for each in evaluation.engine.unknowns())

    evaluation.gone("Pod", "ns", "hides")
    assert evaluation.found() == []
    assert evaluation.engine.unknowns() == []


def test_a_time_that_is_none_is_said_in_plain_words() -> None:
    faults: Faults = []
    assert moment("deadline", "tomorrow", faults) is None
    assert [fault.why for fault in faults] == ["'tomorrow' is no time"]
