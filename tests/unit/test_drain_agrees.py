"""The view of a drain and the check of evictions look at the same VM, and must not contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.checks.evictions.reasons import BLOCKED
from exporter.model.kinds.node import Node
from exporter.model.source import SyncState
from exporter.views import drain
from exporter.views.drain import DrainState
from tests.evaluation import Evaluation
from tests.rows import full
from tests.unit.test_checks import cases_of

CHECK = next(check for check in all_checks() if check.id == "evictions")
CASES = {name: case for name, case in cases_of(CHECK).items() if case["finds"] != "unknown"}
STUCK = {DrainState.BLOCKED, DrainState.EXTERNAL, DrainState.SHUTS_DOWN, DrainState.UNKNOWN}
# These say how it stands with a mark or a deletion, and not that an eviction would get nowhere.
ASIDE = ("RequestOnSchedulableNode", "StuckTerminating")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_the_check_finds_blocked_does_not_leave_by_itself(case: dict[str, Any]) -> None:
    evaluation = Evaluation([CHECK], case.get("unsynced", ()), indexes=drain.INDEXES)
    for name, sync_state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(sync_state))
    for row in case["given"]:
        evaluation.seen(full(row))
    evaluation.evaluate()
    engine = evaluation.engine
    nodes = [node.name for node in engine.cluster.all(Node)]

    reported = {
        vm.vm: vm.state
        for node in drain.take(engine.cluster, nodes, engine.findings(), engine.generation).nodes
        for vm in node.vms
    }
    blocked = [f for f in engine.findings() if CHECK.reasons[f.reason].family is BLOCKED and f.reason not in ASIDE]
    for finding in blocked:
        if finding.node in nodes:
            assert reported[finding.subject] in STUCK, finding


def test_there_is_something_to_agree_on() -> None:
    reasons = {found["reason"] for case in CASES.values() for found in case["finds"]}
    assert {name for name, reason in CHECK.reasons.items() if reason.family is BLOCKED} <= reasons
