"""What is said of a node that is lost, while its VMs change."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from exporter.findings.finding import Finding
from tests.check_cases import cases_of, evaluated
from tests.evaluation import Evaluation
from tests.rows import full

CHECK = next(check for check in all_checks() if check.id == "evictions")
CASES = cases_of(CHECK)


def lost(evaluation: Evaluation) -> Finding:
    evaluation.evaluate()
    (finding,) = [each for each in evaluation.engine.findings() if each.reason == "NodeLost"]
    return finding


def vm(strategy: str) -> dict[str, Any]:
    return full({"kind": "VirtualMachine", "name": "db", "runStrategy": strategy})


def test_a_new_run_strategy_counts_at_once() -> None:
    evaluation = evaluated(CHECK, CASES["node_lost_and_its_pod_tolerates_that_no_time"])
    assert lost(evaluation).message.endswith(" Each VM starts on another node once its pod is gone.")
    for strategy in ("Manual", "Always"):
        evaluation.seen(vm(strategy))
        down = lost(evaluation).evidence.get("stayDown")
        assert down == (["ns/db (run strategy Manual)"] if strategy == "Manual" else None)


def test_the_message_says_when_its_pods_go_and_who_starts() -> None:
    message = lost(evaluated(CHECK, CASES["node_lost_and_what_becomes_of_its_vms"])).message
    assert (
        " Being deleted, which finishes once the node is back or has taint out-of-service: 1 launcher pod." in message
    )
    assert " Kubernetes deletes the other launcher pods from 2026-09-21T14:08:20Z on. Start on another" in message
    assert message.endswith(
        "pods are gone: 3 VMIs. Not started again: ns/alone (no VM), ns/batch (run strategy Manual)."
    )
