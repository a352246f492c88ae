"""Runs of the sidecar: which findings are planned, which are carried out, what holds them back, and what is shown."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.errors import ApiError
from exporter.facts.times import Skew
from reconcile.decide.approval import write
from reconcile.ledger import Event, Ledger
from reconcile.ledger.manual import folder
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from reconcile.plan.guards import gathered

from ....fakeapi.faults import Fault
from ....rows import full
from ....sidecar_runs import Running, auto, on, orphan

HOUR = 3600.0
PAUSE = {"metadata": {"annotations": {PAUSED: "by hand"}}}
UPGRADE = {"status": {"targetKubeVirtVersion": "v9.9.9"}}


def crowd(count: int, namespace: str = "kubevirt") -> list[dict[str, Any]]:
    """VMs that are healthy, so that limits by shares of the fleet have something to be shares of."""
    return [full({"kind": "VirtualMachine", "namespace": namespace, "name": f"crowd{at}"}) for at in range(count)]


async def test_by_default_it_is_planned_and_nothing_is_sent(tmp_path: Path) -> None:
    async with on(tmp_path, {}, orphan("db")) as running:
        assert await running.run() == 0

        repair = running.repair()
        assert (repair.state, repair.mode, repair.write) == ("planned", "plan", "delete IPAMClaim ns/db.blue")
        command = (
            f"steward reconcile apply {repair.fingerprint} --remediation {repair.remediation} --plan {repair.hash}"
        )
        assert repair.commands == (command,)
        assert {call.method for call in running.server.requests} == {"GET"}


async def test_off_is_not_even_planned(tmp_path: Path) -> None:
    async with on(tmp_path, {"mode": "off"}, orphan("db")) as running:
        await running.run()
        assert running.board.all() == []


async def test_plans_for_show_are_made_now_and_then(tmp_path: Path) -> None:
    async with on(tmp_path, {}, *(orphan(f"vm{at}") for at in range(60))) as running:
        await running.run()
        assert len(running.board.all()) == 50
        await running.run()
        assert len(running.board.all()) == 60
        running.server.requests.clear()

        await running.run()

        assert {call.path.rpartition("/")[2] for call in running.server.requests} <= {"kubevirts", "v1"}


async def test_a_plan_that_is_shown_is_made_again_after_ten_minutes(tmp_path: Path) -> None:
    async with on(tmp_path, {}, orphan("db")) as running:
        await running.run()
        made = running.repair().at
        for later, at in ((600.0, made), (601.0, made + 601.0)):
            running.clock[0] = made + later
            await running.run()
            assert running.repair().at == at


async def test_auto_writes_once_and_verifies(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        assert await running.run() == 1
        assert running.state() == "verifying"
        assert await running.run() == 0  # the exporter still reports it
        running.source.objects.clear()
        await running.run()

        assert running.writes() == [("DELETE", "db.blue")]
        assert [each.event.value for each in running.ledger.entries()] == ["intended", "done", "verified"]
        assert running.board.all() == []


async def test_approve_waits_for_the_plan_s_hash(tmp_path: Path) -> None:
    settings = {"remediations": {"delete_orphan_ipam_claim": {"mode": "approve", "minAge": "0s"}}}
    async with on(tmp_path, settings, orphan("db")) as running:
        assert await running.run() == 0
        assert running.state() == "waiting"
        assert running.repair().commands[0].startswith("steward reconcile approve ")
        plan = running.repair().hash
        for hash_, writes in (("0" * 16, 0), (plan, 1)):
            approval = write(hash_, "alice", running.clock[0], running.clock[0] + 3600)
            running.server.patch(
                "ipamclaims", "ns", "db.blue", {"metadata": {"annotations": {APPROVED_PLAN: approval}}}
            )
            assert await running.run() == writes, running.repair()

        assert running.writes() == [("DELETE", "db.blue")]


async def test_what_waits_for_an_approval_is_not_planned_in_each_run(tmp_path: Path) -> None:
    settings = {"remediations": {"delete_orphan_ipam_claim": {"mode": "approve", "minAge": "0s"}}}
    async with on(tmp_path, settings, orphan("db")) as running:
        await running.run()
        assert running.state() == "waiting"
        running.server.requests.clear()
        await running.run()

        assert "pods" not in {call.path.rpartition("/")[2] for call in running.server.requests}
        running.clock[0] += 601
        await running.run()
        assert "pods" in {call.path.rpartition("/")[2] for call in running.server.requests}


async def test_an_approval_is_for_one_write(tmp_path: Path) -> None:
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "finalizers": []})
    vm, nad = (
        full({"kind": "VirtualMachine", "name": "db", "uid": "u1"}),
        full({"kind": "NetworkAttachmentDefinition", "name": "blue"}),
    )
    own = {"repair_ipam_claim_metadata": {"mode": "approve", "minAge": "0s"}}
    async with on(tmp_path, {"remediations": own}, vm, nad, claim) as running:
        await running.run()
        plan = running.repair("db", "repair_ipam_claim_metadata").hash
        approval = write(plan, "alice", running.clock[0], running.clock[0] + 3600)
        annotated = {"metadata": {"annotations": {APPROVED_PLAN: approval}, "finalizers": []}}
        running.server.patch("ipamclaims", "ns", "db.blue", annotated)
        assert await running.run() == 1
        running.clock[0] += 300
        running.server.patch("ipamclaims", "ns", "db.blue", annotated)  # somebody reverts it

        assert await running.run() == 0

        repair = running.repair("db", "repair_ipam_claim_metadata")
        assert repair.state == "waiting"
        assert repair.refused is not None
        assert "has been used" in repair.refused.why


async def test_with_a_new_ledger_no_approval_is_used_again(tmp_path: Path) -> None:
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "finalizers": []})
    vm, nad = (
        full({"kind": "VirtualMachine", "name": "db", "uid": "u1"}),
        full({"kind": "NetworkAttachmentDefinition", "name": "blue"}),
    )
    settings = {"remediations": {"repair_ipam_claim_metadata": {"mode": "approve", "minAge": "0s"}}}
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    async with on(tmp_path / "old", settings, vm, nad, claim) as running:
        await running.run()
        plan = running.repair("db", "repair_ipam_claim_metadata").hash
        given = running.clock[0]
        used = [write(plan, "alice", given, given + 3600), f"{plan} by alice until 2026-09-22T08:00:00Z"]
        running.server.patch("ipamclaims", "ns", "db.blue", {"metadata": {"annotations": {APPROVED_PLAN: used[0]}}})
        assert await running.run() == 1
        (begun,) = [each for each in running.ledger.entries() if each.event is Event.INTENDED]
        assert (begun.by, begun.authorized) == (used[0], False)

    # It was reverted, and the ledger lost.
    async with on(tmp_path / "new", settings, vm, nad, claim, now=given + 600) as running:
        for text in used:
            running.server.patch("ipamclaims", "ns", "db.blue", {"metadata": {"annotations": {APPROVED_PLAN: text}}})
            assert await running.run() == 0
            refused = running.repair("db", "repair_ipam_claim_metadata").refused
            assert refused is not None
            assert "might be older" in refused.why
        again = write(plan, "alice", running.clock[0] + 1, running.clock[0] + 3600)
        running.server.patch("ipamclaims", "ns", "db.blue", {"metadata": {"annotations": {APPROVED_PLAN: again}}})
        assert await running.run() == 1


async def test_what_is_refused_is_tried_less_and_less_often(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        refusal = ApiError(403, "Forbidden", "a policy of somebody")
        running.server.faults.add(Fault("/ipamclaims/db.blue", method="DELETE", answer=lambda *_: refusal))
        tries = []
        for _ in range(20):
            running.server.requests.clear()
            await running.run()
            running.clock[0] += 30
            tries.append(any(call.method == "DELETE" for call in running.server.requests))

        assert tries == [at in (0, 1, 3, 7, 15) for at in range(20)]
        refused = running.repair().refused
        assert refused is not None
        assert refused.precondition == "dry_run_clean"
        assert "a policy of somebody" in refused.why


async def test_a_finding_that_is_too_young_waits(tmp_path: Path) -> None:
    settings = {"remediations": {"delete_orphan_ipam_claim": {"mode": "auto", "minAge": "10m"}}}
    async with on(tmp_path, settings, orphan("db")) as running:
        await running.run()
        assert (running.state(), running.gates()) == ("blocked", ["min_age"])
        running.clock[0] += 601
        assert await running.run() == 1


@pytest.mark.parametrize(
    ("gate", "change"),
    [
        ("source_age", lambda running: setattr(running.source, "age", HOUR)),
        ("source_age", lambda running: setattr(running.source, "ready", False)),
        ("unknown_check", lambda running: setattr(running.source, "unknown", frozenset({"ipam_claims"}))),
        ("paused", lambda running: running.leader.state.update(paused="by hand")),
        ("paused", lambda running: running.server.patch("namespaces", "", "ns", PAUSE)),
        ("object_paused", lambda running: running.server.patch("ipamclaims", "ns", "db.blue", PAUSE)),
        ("upgrade", lambda running: running.server.patch("kubevirts", "kubevirt", "kubevirt", UPGRADE)),
    ],
)
async def test_gates(tmp_path: Path, gate: str, change: Any) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        change(running)
        assert await running.run() == 0
        repair = running.repair()
        refused = [repair.refused.precondition] if repair.refused else []
        assert gate in [*running.gates(), *refused]
        assert running.writes() == []


async def test_the_budget_of_a_run_and_of_an_hour(tmp_path: Path) -> None:
    budgets = {"run": 2, "hour": 3, "namespaceHour": 100, "fleetShare": 1.0}
    claims = [orphan(f"vm{at}") for at in range(6)]
    async with on(tmp_path, auto(budgets=budgets), *claims, *crowd(20, "ns")) as running:
        assert [await running.run() for _ in range(4)] == [2, 1, 0, 0]
        running.clock[0] += HOUR + 1
        assert await running.run() == 2


async def test_what_the_second_half_of_the_hour_is_kept_for(tmp_path: Path) -> None:
    budgets = {"run": 10, "hour": 4, "namespaceHour": 100, "fleetShare": 1.0}
    claims = [orphan(f"vm{at}") for at in range(6)]
    async with on(tmp_path, auto(budgets=budgets), *claims, *crowd(20, "other")) as running:
        assert await running.run() == 2
        (why,) = (each.why for each in running.repair("vm5").blocked if each.gate == "budget_hour")
        assert "2 writes in all namespaces within the last hour, at most 4 (budgets.hour)" in why
        assert "namespace ns has used 2 of 1" in why
        running.appear(orphan("web", "other"))
        assert await running.run() == 1
        assert ("DELETE", "web.blue") in running.writes()


async def test_in_a_storm_of_its_namespace_nothing_is_written_until_the_cooldown_is_over(tmp_path: Path) -> None:
    storm = {"share": 0.1, "atLeast": 5, "cooldown": "15m"}
    claims = [orphan(f"vm{at}") for at in range(8)]
    async with on(tmp_path, auto(storm=storm, budgets={"run": 0}), *crowd(20)) as running:
        await running.run()
        running.appear(*claims)
        assert await running.run() == 0
        assert "storm" in running.gates("vm0")
        (why,) = (each.why for each in running.repair("vm0").blocked if each.gate == "storm")
        assert "8 findings of ipam_claims are new in namespace ns with 0 VMs (within 15m); 5 are a storm" in why
        assert "steward reconcile resume -n ns" in why

        running.source.objects = claims[:1]
        assert await running.run() == 0
        assert "storm" in running.gates("vm0")
        running.clock[0] += 15 * 60 + 1
        await running.run()
        assert running.gates("vm0") == ["budget_run"]


async def test_a_tenant_s_storm_stops_no_other_namespace(tmp_path: Path) -> None:
    async with on(tmp_path, auto()) as running:
        await running.run()
        running.appear(*(orphan(f"vm{at}") for at in range(12)), orphan("web", "other"))

        assert await running.run() == 1

        assert running.gates("vm0") == ["storm"]
        assert running.writes() == [("DELETE", "web.blue")]


async def test_what_was_there_when_it_began_is_a_backlog_and_is_worked_off(tmp_path: Path) -> None:
    budgets = {"run": 5, "hour": 100, "namespaceHour": 100, "fleetShare": 1.0}
    claims = [orphan(f"vm{at}") for at in range(15)]  # as new ones they are a storm
    async with on(tmp_path, auto(budgets=budgets), *claims, *crowd(40)) as running:
        assert [await running.run() for _ in range(3)] == [5] * 3


async def test_the_number_of_vms_is_counted_and_not_taken_from_the_exporter(tmp_path: Path) -> None:
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})
    nad = full({"kind": "NetworkAttachmentDefinition", "name": "blue"})
    bare = [full({"kind": "VirtualMachine", "name": name, "uid": f"uid-{name}"}) for name in ("web", "app")] + [
        full({"kind": "IPAMClaim", "name": f"{name}.blue", "vm": name, "owner": f"uid-{name}", "finalizers": []})
        for name in ("web", "app")
    ]
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "finalizers": []})
    own = {"repair_ipam_claim_metadata": {"mode": "auto", "minAge": "0s"}}
    async with on(tmp_path, {"remediations": own}, vm, nad, claim, *bare) as running:
        running.source.fleet = 1000  # of which 50 might be touched

        assert await running.run() == 1

        repairs = [each for each in running.board.all() if each.blocked]
        whys = {gate.why for each in repairs for gate in each.blocked if gate.gate == "budget_fleet"}
        assert any("1 of 3 VMs were touched" in why for why in whys), whys


async def test_a_tenant_whose_findings_are_the_oldest_gets_no_more_turns_than_others(tmp_path: Path) -> None:
    budgets = {"run": 3, "hour": 3, "namespaceHour": 3, "fleetShare": 1.0}
    old = [orphan(f"vm{at}") for at in range(10)]
    async with on(tmp_path, auto(budgets=budgets), *old, orphan("web", "other"), *crowd(20)) as running:
        await running.run()
        assert ("DELETE", "web.blue") in running.writes()


async def test_a_pod_that_can_not_be_read_is_one_cause_in_its_namespace_and_none_elsewhere(tmp_path: Path) -> None:
    notes = {"k8s.ovn.org/pod-networks": "{"}
    broken = full({"kind": "Pod", "namespace": "other", "name": "web", "annotations": notes})
    claims = [orphan(f"vm{at}", "other") for at in range(3)]
    settings = auto(budgets={"fleetShare": 1.0})
    async with on(tmp_path, settings, orphan("db"), *claims, broken, *crowd(50, "other")) as running:
        assert await running.run() == 1
        assert running.writes() == [("DELETE", "db.blue")]

        (cause,) = gathered(each.refused for each in running.board.all())
        assert (cause.object, cause.repairs) == ("Pod other/web", 3)
        assert "annotation k8s.ovn.org/pod-networks could not be read" in cause.why
        assert cause.remedy.endswith("kubectl get pod -n other web -o yaml")


async def test_without_findings_nothing_is_concluded(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        running.source.down = True
        assert await running.run() == 0
        assert not running.server.requests


async def test_what_somebody_reverts_three_times_is_left_alone(tmp_path: Path) -> None:
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})
    nad = full({"kind": "NetworkAttachmentDefinition", "name": "blue"})
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "finalizers": []})
    own = {"repair_ipam_claim_metadata": {"mode": "auto", "minAge": "0s"}}
    settings = {"remediations": own, "budgets": {"fleetShare": 1.0}}
    async with on(tmp_path, settings, vm, nad, claim) as running:
        for _ in range(3):
            assert await running.run() == 1
            running.clock[0] += 300
            running.server.patch("ipamclaims", "ns", "db.blue", {"metadata": {"finalizers": []}})
        assert await running.run() == 0

        assert [each.gate for each in running.repair("db", "repair_ipam_claim_metadata").blocked] == ["edit_war"]
        assert len(running.writes()) == 3
        assert [each.event.value for each in running.ledger.entries()] == [
            *(["intended", "done", "returned"] * 3),
            "paused",
        ]


def on_a_claim_without_finalizer(tmp_path: Path) -> AbstractAsyncContextManager[Running]:
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})
    nad = full({"kind": "NetworkAttachmentDefinition", "name": "blue"})
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "finalizers": []})
    own = {"repair_ipam_claim_metadata": {"mode": "auto", "minAge": "0s"}}
    return on(tmp_path, {"remediations": own, "budgets": {"fleetShare": 1.0}}, vm, nad, claim)


async def test_what_a_person_takes_back_is_not_said_to_be_reverted(tmp_path: Path) -> None:
    async with on_a_claim_without_finalizer(tmp_path) as running:
        assert await running.run() == 1
        (intended, _) = running.ledger.entries()
        with Ledger.open(folder(running.ledger.directory), clock=lambda: running.clock[0]) as by_hand:
            undo = by_hand.append(Event.INTENDED, plan=intended.plan, whole={}, mode="undo", undoes=intended.attempt)
            running.clock[0] += 300
            taken_back = {"finalizers": [], "annotations": {PAUSED: "undone by alice"}}
            running.server.patch("ipamclaims", "ns", "db.blue", {"metadata": taken_back})
            assert await running.run() == 0
            assert [each.event for each in running.ledger.entries()] == ["intended", "done"]  # nobody knows yet by whom
            by_hand.append(Event.DONE, attempt=undo.attempt)

        assert await running.run() == 0
        assert [each.event for each in running.ledger.entries()] == ["intended", "done", "taken_back"]
        running.clock[0] += 300
        assert await running.run() == 0
        assert len(list(running.ledger.entries())) == 3


async def test_while_what_people_took_back_can_t_be_read_nobody_is_said_to_have_reverted_it(tmp_path: Path) -> None:
    async with on_a_claim_without_finalizer(tmp_path) as running:
        assert await running.run() == 1
        beside = folder(running.ledger.directory)
        beside.mkdir()
        (beside / "ledger-000001.jsonl").write_text("{broken\n", encoding="utf-8")
        running.clock[0] += 300
        running.server.patch("ipamclaims", "ns", "db.blue", {"metadata": {"finalizers": []}})
        assert await running.run() == 0
        assert [each.event for each in running.ledger.entries()] == ["intended", "done"]

        (beside / "ledger-000001.jsonl").unlink()
        assert await running.run() == 1
        events = [each.event for each in running.ledger.entries()]
        assert events == ["intended", "done", "returned", "intended", "done"]


async def test_while_the_clocks_do_not_agree_nothing_is_written(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        running.skew[0] = Skew(900.0, 0.0, "node-1")
        assert await running.run() == 0
        assert (running.state(), running.gates()) == ("blocked", ["clock"])
        (blocked,) = running.repair().blocked
        assert "the clock of node-1 is 900 s ahead of the API server's" in blocked.why
        running.skew[0] = None
        assert await running.run() == 0
        assert running.gates() == ["clock"]
        running.skew[0] = Skew(1.0, 0.0, "node-1")
        assert await running.run() == 1


async def test_a_clock_that_jumps_in_the_middle_of_an_attempt_ends_it(tmp_path: Path) -> None:
    """Back into a window that is over: by the clock it is still open when the plan was made again."""
    settings = auto(windows=[{"from": "00:00", "to": "23:59"}])
    async with on(tmp_path, settings, orphan("db")) as running:

        def jump() -> None:
            running.clock[0] -= 3600
            running.skew[0] = Skew(-3600.0, 0.0, "node-1")

        running.server.faults.add(Fault("/ipamclaims/db.blue", method="DELETE", before=jump, times=1))  # the dry run
        assert await running.run() == 0

        assert running.writes() == []
        refused = running.repair().refused
        assert refused is not None
        assert refused.precondition == "clock"
        assert "3600 s behind" in refused.why
