"""Mode `shadow`: what auto would write is kept in the ledger, and nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from demo.apiserver.errors import ApiError
from reconcile.carry_out.outcomes import AttemptOutcomes
from reconcile.ledger import Event, Ledger
from reconcile.ledger.history import History
from reconcile.plan.annotations import PAUSED

from ....fakeapi.faults import Fault
from ....rows import full
from ....sidecar_runs import Running, auto, on, orphan

HOUR = 3600.0
PAUSE = {"metadata": {"annotations": {PAUSED: "by hand"}}}
WIDE = {"run": 100, "hour": 1000, "namespaceHour": 1000, "fleetShare": 1.0}


def shadow(**settings: Any) -> dict[str, Any]:
    return {"remediations": {"delete_orphan_ipam_claim": {"mode": "shadow", "minAge": "0s"}}, **settings}


def events(running: Running) -> list[str]:
    return [each.event.value for each in running.ledger.entries() if each.event is not Event.COUNTED]


def shadowed(running: Running) -> list[str]:
    """The names of what would have been written."""
    return [
        each.plan.target.name
        for each in running.ledger.entries()
        if each.event is Event.SHADOWED and each.plan is not None
    ]


def only_reads(running: Running) -> bool:
    return {call.method for call in running.server.requests} == {"GET"}


async def test_the_write_is_kept_and_nothing_is_sent(tmp_path: Path) -> None:
    async with on(tmp_path, shadow(), orphan("db")) as running:
        before = running.server.get("ipamclaims", "ns", "db.blue")
        assert await running.run() == 0
        assert await running.run() == 0

        (entry,) = (each for each in running.ledger.entries() if each.event is Event.SHADOWED)
        assert entry.plan is not None
        assert entry.plan.remediation == "delete_orphan_ipam_claim"
        assert entry.plan.fingerprint == running.repair().fingerprint
        assert entry.plan.cause_id == running.source.found()[0].cause
        assert entry.whole is not None
        assert entry.whole["metadata"]["uid"] == before["metadata"]["uid"]
        assert entry.request is not None
        assert entry.request["method"] == "DELETE"
        assert entry.after is None
        assert (running.state(), running.repair().mode) == ("shadowed", "shadow")
        assert only_reads(running)
        assert not running.ledger.unfinished()


async def test_of_a_patch_the_object_is_kept_as_it_would_be(tmp_path: Path) -> None:
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})
    nad = full({"kind": "NetworkAttachmentDefinition", "name": "blue"})
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "finalizers": []})
    own = {"repair_ipam_claim_metadata": {"mode": "shadow", "minAge": "0s"}}
    async with on(tmp_path, {"remediations": own, "budgets": {"fleetShare": 1.0}}, vm, nad, claim) as running:
        await running.run()

        (entry,) = (each for each in running.ledger.entries() if each.event is Event.SHADOWED)
        assert entry.after is not None
        assert entry.whole is not None
        assert entry.after["metadata"]["finalizers"] == ["kubevirt.io/persistent-ipam"]
        assert not entry.whole["metadata"].get("finalizers")
        assert only_reads(running)


@pytest.mark.parametrize("gone", ["by itself", "by somebody", "it can't be seen"])
async def test_when_the_finding_goes_it_is_said_once(tmp_path: Path, gone: str) -> None:
    async with on(tmp_path, shadow(), orphan("db")) as running:
        await running.run()
        running.source.objects.clear()
        if gone == "by somebody":
            running.server.delete("ipamclaims", "ns", "db.blue")
        elif gone == "by itself":
            running.appear(full({"kind": "VirtualMachine", "name": "db", "uid": "gone-db"}))
        else:
            refusal = ApiError(403, "Forbidden", "not now")
            running.server.faults.add(Fault("/ipamclaims", method="GET", answer=lambda *_: refusal))
        await running.run()
        await running.run()

        if gone == "it can't be seen":
            assert events(running) == ["shadowed"]
            return
        assert events(running) == ["shadowed", "went"]
        went = list(running.ledger.entries())[-1]
        assert went.event is Event.WENT
        assert went.happened is (gone == "by somebody")


async def test_what_comes_back_is_shadowed_again(tmp_path: Path) -> None:
    async with on(tmp_path, shadow(budgets=WIDE), orphan("db")) as running:
        (claim,) = running.source.objects
        await running.run()
        running.appear(full({"kind": "VirtualMachine", "name": "db", "uid": "gone-db"}))
        await running.run()
        running.server.delete("virtualmachines", "ns", "db")
        running.source.objects = [claim]
        await running.run()
        assert events(running) == ["shadowed", "went", "shadowed"]


async def test_while_the_exporter_is_not_ready_nothing_went(tmp_path: Path) -> None:
    async with on(tmp_path, shadow(), orphan("db")) as running:
        await running.run()
        running.source.objects.clear()
        running.source.ready = False
        running.server.delete("ipamclaims", "ns", "db.blue")
        await running.run()
        assert events(running) == ["shadowed"]


@pytest.mark.parametrize(
    ("gate", "change"),
    [
        ("source_age", lambda running: setattr(running.source, "age", HOUR)),
        ("unknown_check", lambda running: setattr(running.source, "unknown", frozenset({"ipam_claims"}))),
        ("paused", lambda running: running.leader.state.update(paused="by hand")),
        ("paused", lambda running: running.server.patch("namespaces", "", "ns", PAUSE)),
        ("object_paused", lambda running: running.server.patch("ipamclaims", "ns", "db.blue", PAUSE)),
        ("leading", lambda running: setattr(running.leader, "leading", False)),
    ],
)
async def test_gates_hold_it_back_as_they_do_auto(tmp_path: Path, gate: str, change: Any) -> None:
    async with on(tmp_path, shadow(), orphan("db")) as running:
        change(running)
        await running.run()
        repair = running.repair()
        refused = [repair.refused.precondition] if repair.refused else []
        assert gate in [*running.gates(), *refused]
        assert shadowed(running) == []


async def test_what_was_shadowed_counts_for_budgets_in_shadow(tmp_path: Path) -> None:
    budgets = {"run": 2, "hour": 3, "namespaceHour": 100, "fleetShare": 1.0}
    crowd = [full({"kind": "VirtualMachine", "name": f"crowd{at}"}) for at in range(20)]
    async with on(tmp_path, shadow(budgets=budgets), *(orphan(f"vm{at}") for at in range(6)), *crowd) as running:
        counts = []
        for _ in range(4):
            await running.run()
            counts.append(len(shadowed(running)))
        assert counts == [2, 3, 3, 3]
        running.clock[0] += HOUR + 1
        await running.run()
        assert len(shadowed(running)) == 5


async def test_what_was_shadowed_takes_nothing_of_what_auto_may_write(tmp_path: Path) -> None:
    own = {"mode": "shadow", "minAge": "0s", "namespaces": {"other": "auto"}}
    budgets = {"run": 2, "hour": 2, "namespaceHour": 2, "fleetShare": 1.0}
    settings = {"remediations": {"delete_orphan_ipam_claim": own}, "budgets": budgets}
    async with on(tmp_path, settings, orphan("a"), orphan("b"), orphan("c")) as running:
        await running.run()
        assert len(shadowed(running)) == 1  # of the hour's second half a namespace without VMs has none
        running.appear(orphan("web", "other"))
        assert await running.run() == 1
        assert running.writes() == [("DELETE", "web.blue")]


async def test_a_storm_of_what_is_shadowed_stops_only_that(tmp_path: Path) -> None:
    own = {"mode": "shadow", "minAge": "0s", "namespaces": {"other": "auto"}}
    settings = {"remediations": {"delete_orphan_ipam_claim": own}, "budgets": WIDE}
    async with on(tmp_path, settings) as running:
        await running.run()
        running.appear(*(orphan(f"vm{at}") for at in range(12)), orphan("web", "other"))
        assert await running.run() == 1
        assert "storm" in running.gates("vm0")
        assert shadowed(running) == []
        assert running.sidecar._context.measures.standing.storms == {}


async def test_auto_after_shadow_begins_with_fresh_gates_and_writes(tmp_path: Path) -> None:
    budgets = {"run": 1, "hour": 1, "namespaceHour": 1, "fleetShare": 1.0}
    async with on(tmp_path, shadow(budgets=budgets), orphan("db"), orphan("web")) as running:
        await running.run()
        assert len(shadowed(running)) == 1
    async with on(tmp_path, auto(budgets=budgets), orphan("db"), orphan("web")) as running:
        assert await running.run() == 1
        assert events(running) == ["shadowed", "intended", "done"]


async def test_a_restart_forgets_nothing_of_it(tmp_path: Path) -> None:
    budgets = {"run": 1, "hour": 1, "namespaceHour": 1, "fleetShare": 1.0}
    for _ in range(2):
        async with on(tmp_path, shadow(budgets=budgets), orphan("db"), orphan("web")) as running:
            await running.run()
            assert len(shadowed(running)) == 1
    with Ledger.open(tmp_path / "ledger", clock=lambda: running.clock[0]) as ledger:
        entries = list(ledger.entries())
    history, following = History(), AttemptOutcomes(entries, keep=HOUR)
    for entry in entries:
        history.add(entry)
    again, after = History(), AttemptOutcomes(keep=HOUR)
    again.restore(history.carried())
    after.restore(following.carried())
    since = running.clock[0] - HOUR
    assert list(again.executed(since)) == []
    assert len(again.in_shadow().executed(since)) == 1
    fingerprint = next(each.plan.fingerprint for each in entries if each.plan is not None)
    assert after.shadowed(fingerprint)
    assert not after.awaited(fingerprint)


async def test_findings_and_plans_are_counted_once_an_hour_if_they_changed(tmp_path: Path) -> None:
    async with on(tmp_path, shadow(budgets={"run": 0}), orphan("db"), orphan("web")) as running:
        for _ in range(3):
            await running.run()
            running.clock[0] += 1800
        running.appear(orphan("app"))
        await running.run()
        counted = [msgspec.to_builtins(each.counts) for each in running.ledger.entries()]
        two, three = ({"delete_orphan_ipam_claim": [number, number]} for number in (2, 3))
        assert counted == [two, three]
