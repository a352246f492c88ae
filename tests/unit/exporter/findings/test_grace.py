"""A state that healthy objects pass through is reported once it has lasted, and not reported anew after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.finding import Since
from exporter.store.source import SyncState
from tests.evaluation import NOW, Evaluation
from tests.rows import full

CREATED = "2026-09-21T14:00:00Z"  # 800 seconds before NOW
HOUR = 3600.0


def claims(*, initial: bool = False) -> Evaluation:
    return Evaluation([check for check in all_checks() if check.id == "ipam_claims"], initial=initial)


def seen(evaluation: Evaluation, *rows: dict[str, Any]) -> None:
    for row in rows:
        evaluation.seen(full(row))


BLUE = {"kind": "NetworkAttachmentDefinition", "name": "blue"}
RUNNING = (
    BLUE,
    {"kind": "VirtualMachine", "name": "db", "uid": "u1"},
    {"kind": "VirtualMachineInstance", "name": "db", "uid": "i1", "vm": "u1"},
)
EMPTY = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "created": CREATED}
PLUGGED = {"kind": "VirtualMachine", "name": "web", "uid": "u2"}
UNPLUGGED = {**PLUGGED, "networks": {"red": "red"}}
HELD = {"kind": "IPAMClaim", "name": "web.blue", "vm": "web", "owner": "u2", "ips": ["10.0.0.5/16"]}


def test_a_state_with_a_known_beginning_opens_when_its_grace_ends() -> None:
    evaluation = claims()
    evaluation.now = NOW - 700
    seen(evaluation, *RUNNING, EMPTY)
    assert evaluation.found() == []
    evaluation.now = NOW
    assert evaluation.found() == [("ns", "db.blue", "EmptyClaim", "warning")]
    assert [f.since for f in evaluation.engine.findings()] == [NOW - 800]


@pytest.mark.parametrize("created", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_the_zero_of_a_time_is_no_beginning(created: str) -> None:
    evaluation = claims()
    seen(evaluation, *({**row, "created": created} for row in (*RUNNING, EMPTY)))
    evaluation.evaluate()
    evaluation.now = NOW + HOUR
    assert evaluation.found() == [("ns", "db.blue", "EmptyClaim", "warning")]
    assert [(f.since, f.since_source) for f in evaluation.engine.findings()] == [(NOW, Since.FIRST_SEEN)]


def test_a_state_that_ends_within_its_grace_is_never_reported() -> None:
    evaluation = claims()
    evaluation.now = NOW - 700
    seen(evaluation, *RUNNING, EMPTY)
    evaluation.evaluate()
    seen(evaluation, {**EMPTY, "ips": ["10.0.0.5/16"]})
    evaluation.now = NOW + HOUR
    assert evaluation.found() == []


def test_a_state_that_begins_while_we_look_waits_and_tells_when_it_began() -> None:
    evaluation = claims()
    seen(evaluation, BLUE, PLUGGED, HELD)
    assert evaluation.found() == []
    seen(evaluation, UNPLUGGED)
    assert evaluation.found() == []
    evaluation.now = NOW + HOUR + 1
    assert evaluation.found() == [("ns", "web.blue", "LeakedClaim", "info")]
    assert [f.since for f in evaluation.engine.findings()] == [NOW]


def test_what_was_there_when_we_started_is_reported_at_once() -> None:
    evaluation = claims()
    seen(evaluation, BLUE, UNPLUGGED, HELD)
    assert evaluation.found() == [("ns", "web.blue", "LeakedClaim", "info")]


def test_what_is_open_outlives_a_clock_that_jumps_back() -> None:
    evaluation = claims()
    seen(evaluation, *RUNNING, EMPTY)
    assert evaluation.found()
    evaluation.now = NOW - 86400
    seen(evaluation, {**EMPTY, "refused": "SubnetExhausted"})
    assert evaluation.found() == [("ns", "db.blue", "EmptyClaim", "warning")]


def test_a_grace_that_ends_while_a_kind_is_lost_is_reported_when_it_is_back() -> None:
    evaluation = claims()
    evaluation.now = NOW - 700
    seen(evaluation, *RUNNING, EMPTY)
    evaluation.evaluate()
    evaluation.sync_state("Pod", SyncState.STALE)
    evaluation.now = NOW
    assert evaluation.found() == []
    evaluation.sync_state("Pod", SyncState.LIVE)
    assert evaluation.found() == [("ns", "db.blue", "EmptyClaim", "warning")]
