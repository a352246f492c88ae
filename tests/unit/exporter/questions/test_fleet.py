"""What the report says of the whole fleet: how many VMs, whether it is ready, since when it may be out of date."""

from __future__ import annotations

import json
from typing import Any

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from exporter.questions.findings import UNSEEN_FLEET, FleetSummary, Report, merged, take
from exporter.store.source import SyncState

from ....evaluation import NOW, Evaluation
from ....rows import full
from ....served import served

CHECKS = [each for each in all_checks() if each.scope is not PER_FLEET]


def fleet(evaluation: Evaluation) -> FleetSummary:
    return take(evaluation.engine).fleet


def guests(evaluation: Evaluation) -> None:
    for name in ("a", "b", "c"):
        evaluation.seen(full({"kind": "VirtualMachine", "name": name}))
    evaluation.seen(full({"kind": "VirtualMachineInstance", "name": "a", "vm": "a"}))
    evaluation.seen(full({"kind": "VirtualMachineInstance", "name": "alone", "vm": ""}))
    evaluation.seen(full({"kind": "VirtualMachineInstance", "name": "ended", "vm": "", "phase": "Succeeded"}))


def test_vms_are_counted() -> None:
    evaluation = Evaluation(CHECKS)
    assert fleet(evaluation) == FleetSummary(0, "")
    guests(evaluation)
    assert fleet(evaluation) == FleetSummary(3, "")


def test_what_can_not_be_seen_is_not_counted() -> None:
    evaluation = Evaluation(CHECKS)
    guests(evaluation)
    evaluation.sync_state("VirtualMachine", SyncState.FORBIDDEN)
    assert fleet(evaluation) == FleetSummary(None, "")


def test_the_kind_that_is_longest_without_a_connection_counts() -> None:
    evaluation = Evaluation(CHECKS)
    for seconds, kind, state in (
        (0, "Pod", SyncState.FORBIDDEN),  # its checks are unknown
        (60, "IPAMClaim", SyncState.BEHIND),
        (120, "Node", SyncState.STALE),
    ):
        evaluation.now = NOW + seconds
        evaluation.sync_state(kind, state)
    assert fleet(evaluation).out_of_date_since == "2026-09-21T14:14:20Z"
    evaluation.sync_state("IPAMClaim", SyncState.LIVE)
    assert fleet(evaluation).out_of_date_since == "2026-09-21T14:15:20Z"
    evaluation.sync_state("Node", SyncState.LIVE)
    assert fleet(evaluation).out_of_date_since == ""


def test_several_clusters_are_one_fleet() -> None:
    one = Report(1, [], [], [], [], fleet=FleetSummary(3, "2026-09-21T14:15:20Z"))
    other = Report(1, [], [], [], [], fleet=FleetSummary(2, "2026-09-21T14:14:20Z"))
    assert (merged((one, other)).fleet, merged((one, other)).ready) == (FleetSummary(5, "2026-09-21T14:14:20Z"), True)
    unread = Report(0, [], [], [], [], ready=False, fleet=UNSEEN_FLEET)
    assert (merged((one, unread)).fleet.virtual_machines, merged((one, unread)).ready) == (None, False)


async def test_the_api_says_whether_it_is_ready() -> None:
    async with served() as server:

        async def report() -> Any:
            return json.loads((await server.get("/api/v1/findings"))[2])

        whole = await report()
        assert (whole["ready"], whole["fleet"]) == (
            True,
            {"virtualMachines": 0, "outOfDateSince": "", "kubevirtVersion": ""},
        )
        guests(server.evaluation)
        assert (await report())["fleet"]["virtualMachines"] == 3
    starting = Evaluation(CHECKS, unsynced=("VirtualMachine",))
    starting.evaluate()
    assert not take(starting.engine).ready
