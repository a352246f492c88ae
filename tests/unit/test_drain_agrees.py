"""The view of a drain and the check of evictions look at the same machine, and must not contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from exporter import drain
from exporter.checks import all_checks
from exporter.checks.evictions.reasons import BLOCKED
from exporter.drain import Outcome
from exporter.model.node import Node
from exporter.model.source import Sight
from tests.judging import Judging
from tests.rows import full
from tests.unit.test_checks import cases_of

CHECK = next(check for check in all_checks() if check.id == "evictions")
CASES = {name: case for name, case in cases_of(CHECK).items() if case["finds"] != "unknown"}
STUCK = {Outcome.BLOCKS, Outcome.LEFT_TO, Outcome.SHUTS_DOWN, Outcome.UNKNOWN}
# These say how it stands with a mark or a deletion, and not that an eviction would get nowhere.
ASIDE = ("MarkOnSchedulableNode", "StuckTerminating")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_the_check_finds_blocked_does_not_leave_by_itself(case: dict[str, Any]) -> None:
    judging = Judging([CHECK], case.get("unsynced", ()), indexes=drain.INDEXES)
    for name, sight in case.get("sight", {}).items():
        judging.sight(name, Sight(sight))
    for row in case["given"]:
        judging.seen(full(row))
    judging.judge()
    engine = judging.engine
    nodes = [node.name for node in engine.cluster.all(Node)]

    told = {
        machine.machine: machine.outcome
        for node in drain.take(engine.cluster, nodes, engine.findings(), engine.generation).nodes
        for machine in node.machines
    }
    blocked = [f for f in engine.findings() if CHECK.reasons[f.reason].family is BLOCKED and f.reason not in ASIDE]
    for finding in blocked:
        if finding.node in nodes:
            assert told[finding.subject] in STUCK, finding


def test_there_is_something_to_agree_on() -> None:
    reasons = {found["reason"] for case in CASES.values() for found in case["finds"]}
    assert {name for name, reason in CHECK.reasons.items() if reason.family is BLOCKED} <= reasons
