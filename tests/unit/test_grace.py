"""A state that healthy objects pass through is told once it has lasted, and not told anew after a restart."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from exporter.model.source import Sight
from tests.judging import NOW, Judging
from tests.rows import full

CREATED = "2026-09-21T14:00:00Z"  # 800 seconds before NOW
HOUR = 3600.0


def claims(*, patient: bool = True) -> Judging:
    return Judging([check for check in all_checks() if check.id == "ipam_claims"], patient=patient)


def seen(judging: Judging, *rows: dict[str, Any]) -> None:
    for row in rows:
        judging.seen(full(row))


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
    judging = claims()
    judging.now = NOW - 700
    seen(judging, *RUNNING, EMPTY)
    assert judging.found() == []
    judging.now = NOW
    assert judging.found() == [("ns", "db.blue", "EmptyClaim", "warning")]
    assert [f.since for f in judging.engine.findings()] == [NOW - 800]


def test_a_state_that_ends_within_its_grace_is_never_told() -> None:
    judging = claims()
    judging.now = NOW - 700
    seen(judging, *RUNNING, EMPTY)
    judging.judge()
    seen(judging, {**EMPTY, "ips": ["10.0.0.5/16"]})
    judging.now = NOW + HOUR
    assert judging.found() == []


def test_a_state_that_begins_while_we_look_waits_and_tells_when_it_began() -> None:
    judging = claims()
    seen(judging, BLUE, PLUGGED, HELD)
    assert judging.found() == []
    seen(judging, UNPLUGGED)
    assert judging.found() == []
    judging.now = NOW + HOUR + 1
    assert judging.found() == [("ns", "web.blue", "LeakedClaim", "info")]
    assert [f.since for f in judging.engine.findings()] == [NOW]


def test_what_was_there_when_we_started_is_told_at_once() -> None:
    judging = claims()
    seen(judging, BLUE, UNPLUGGED, HELD)
    assert judging.found() == [("ns", "web.blue", "LeakedClaim", "info")]


def test_what_is_open_outlives_a_clock_that_jumps_back() -> None:
    judging = claims()
    seen(judging, *RUNNING, EMPTY)
    assert judging.found()
    judging.now = NOW - 86400
    seen(judging, {**EMPTY, "refused": "SubnetExhausted"})
    assert judging.found() == [("ns", "db.blue", "EmptyClaim", "warning")]


def test_a_grace_that_ends_while_a_kind_is_lost_is_told_when_it_is_back() -> None:
    judging = claims()
    judging.now = NOW - 700
    seen(judging, *RUNNING, EMPTY)
    judging.judge()
    judging.sight("Pod", Sight.STALE)
    judging.now = NOW
    assert judging.found() == []
    judging.sight("Pod", Sight.LIVE)
    assert judging.found() == [("ns", "db.blue", "EmptyClaim", "warning")]
