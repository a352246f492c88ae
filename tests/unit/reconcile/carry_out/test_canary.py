"""A remediation in mode `auto` begins with one repair, then two, each followed until its finding stayed gone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.errors import ApiError
from exporter.facts.times import Skew
from reconcile.carry_out import verifying

from ....fakeapi.faults import Fault, internal_error
from ....rows import full
from ....sidecar_runs import Running, auto, on, orphan

HOUR = 3600.0
MANY = {"run": 10, "hour": 100, "namespaceHour": 100, "fleetShare": 1.0}
ON = {"budgets": MANY, "canary": {"stays": "1h"}}
LOST = ApiError(504, "Timeout", "the API server did not answer")
RESUMED = "resumed-at-repair_ipam_claim_metadata"


def ten() -> list[dict[str, Any]]:
    """Orphans, and VMs that nothing is wrong with."""
    vms = [full({"kind": "VirtualMachine", "namespace": "kubevirt", "name": f"crowd{at}"}) for at in range(50)]
    return [*(orphan(f"vm{at}") for at in range(10)), *vms]


def bare(*names: str) -> list[dict[str, Any]]:
    """VMs whose claims lack the finalizer."""
    made = [full({"kind": "NetworkAttachmentDefinition", "name": "blue"})]
    for name in names:
        made.append(full({"kind": "VirtualMachine", "name": name, "uid": f"uid-{name}"}))
        row = {"kind": "IPAMClaim", "name": f"{name}.blue", "vm": name, "owner": f"uid-{name}", "finalizers": []}
        made.append(full(row))
    return made


REPAIRED = {"remediations": {"repair_ipam_claim_metadata": {"mode": "auto", "minAge": "0s"}}, **ON}


def there(running: Running) -> None:
    """The findings are those of what the API server has."""
    gone = {name for method, name in running.writes() if method == "DELETE"}
    running.source.objects = [each for each in running.source.objects if each["metadata"]["name"] not in gone]


def events(running: Running) -> list[str]:
    return [each.event.value for each in running.ledger.entries()]


async def later(running: Running, seconds: float) -> int:
    there(running)
    running.clock[0] += seconds
    return await running.run()


def state(running: Running) -> str:
    (canary,) = running.sidecar._context.measures.standing.canaries
    return canary.state


async def test_one_then_two_then_the_budget(tmp_path: Path) -> None:
    async with on(tmp_path, auto(**ON), *ten()) as running:
        assert await running.run() == 1
        assert state(running) == "first"
        assert await later(running, 30) == 0
        assert events(running) == ["intended", "done", "verified"]
        (gate,) = running.repair("vm9").blocked
        assert gate.gate == "canary"
        assert "follows IPAMClaim ns/vm" in gate.why
        assert gate.why.endswith("; step 1 of 2 is one repair")
        assert gate.until == running.clock[0] + HOUR

        assert await later(running, HOUR - 1) == 0
        assert await later(running, 1) == 2
        assert events(running)[3:] == ["stayed", "intended", "done", "intended", "done"]
        assert await later(running, 30) == 0
        assert state(running) == "second"
        assert await later(running, HOUR) == 7
        assert state(running) == "over"
        assert events(running).count("stayed") == 3
        assert await later(running, 30) == 0


async def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    async with on(tmp_path, auto(**ON), *ten()) as running:
        await running.run()
        deleted = {name for _, name in running.writes()}
        now = running.clock[0]
    left = [each for each in ten() if each["metadata"]["name"] not in deleted]
    async with on(tmp_path, auto(**ON), *left) as running:
        running.clock[0] = now + 60
        assert [await running.run(), await running.run()] == [0, 0]
    async with on(tmp_path, auto(**ON), *left) as running:
        running.clock[0] = now + 60 + HOUR
        assert await running.run() == 2


async def test_what_comes_back_stops_it_until_a_person_resumes_it(tmp_path: Path) -> None:
    async with on(tmp_path, REPAIRED, *bare("db", "web")) as running:
        assert await running.run() == 1
        ((_, name),) = running.writes()
        other = "db" if name == "web.blue" else "web"
        running.clock[0] += 300
        running.server.patch("ipamclaims", "ns", name, {"metadata": {"finalizers": []}})
        assert await running.run() == 0
        assert events(running) == ["intended", "done", "returned"]
        assert state(running) == "stopped"
        (gate,) = running.repair(other, "repair_ipam_claim_metadata").blocked
        assert gate.gate == "canary"
        assert f"IPAMClaim ns/{name}: the finding came back" in gate.why
        assert gate.why.endswith("then: steward reconcile resume --remediation repair_ipam_claim_metadata")
        for _ in range(3):
            assert await later(running, HOUR) == 0

        moment = datetime.fromtimestamp(running.clock[0], UTC).isoformat()
        running.leader.state[RESUMED] = f"{moment} by alice: the operator is gone"
        assert await later(running, 1) == 1
        assert events(running)[3:] == ["resumed", "intended", "done"]
        resumed = list(running.ledger.entries())[3]
        assert (resumed.by, resumed.why) == ("alice", "the operator is gone")
        assert await later(running, 60) == 0


@pytest.mark.parametrize("said", ["yesterday", "2020-01-01T00:00:00Z by alice", "2999-01-01T00:00:00Z by alice"])
async def test_no_other_time_resumes_it(tmp_path: Path, said: str) -> None:
    async with on(tmp_path, REPAIRED, *bare("db", "web")) as running:
        await running.run()
        running.clock[0] += 300
        running.server.patch("ipamclaims", "ns", running.writes()[0][1], {"metadata": {"finalizers": []}})
        running.leader.state[RESUMED] = said
        assert [await running.run(), await running.run()] == [0, 0]


async def test_what_is_found_again_beside_the_write_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with on(tmp_path, REPAIRED, *bare("db", "web")) as running:
        await running.run()
        ((_, name),) = running.writes()
        running.source.objects = [each for each in running.source.objects if each["metadata"]["name"] != name]
        await running.run()
        assert events(running)[-1] == "verified"

        monkeypatch.setattr(verifying, "happened", lambda *_: True)  # whatever else makes the check find it
        running.server.patch("ipamclaims", "ns", name, {"metadata": {"finalizers": []}})
        running.source.objects = bare("db", "web")
        running.clock[0] += 2 * HOUR
        assert await running.run() == 0
        assert events(running)[-1] == "persists"
        assert state(running) == "stopped"


async def test_what_can_not_be_seen_neither_passes_nor_stops_it(tmp_path: Path) -> None:
    async with on(tmp_path, auto(**ON), *ten()) as running:
        await running.run()
        unreadable = Fault("/ipamclaims", answer=internal_error())
        running.server.faults.add(unreadable)
        assert await later(running, HOUR) == 0
        assert events(running) == ["intended", "done"]
        running.server.faults.clear()
        assert await later(running, 30) == 0
        assert events(running) == ["intended", "done", "verified"]
        running.server.faults.add(unreadable)
        for _ in range(3):
            assert await later(running, HOUR) == 0
        assert events(running) == ["intended", "done", "verified"]
        assert state(running) == "first"
        running.server.faults.clear()
        assert await later(running, 1) == 2


async def test_by_a_clock_that_is_wrong_nothing_is_over(tmp_path: Path) -> None:
    async with on(tmp_path, auto(**ON), *ten()) as running:
        await running.run()
        running.skew[0] = Skew(-HOUR, 0.0, "node-1")
        assert await later(running, 30) == 0
        assert events(running) == ["intended", "done"]
        running.skew[0] = Skew(0.0, 0.0, "node-1")
        await later(running, 30)
        running.skew[0] = None
        assert await later(running, 2 * HOUR) == 0
        assert events(running) == ["intended", "done", "verified"]
        running.skew[0] = Skew(0.0, 0.0, "node-1")
        assert await later(running, 1) == 2


async def test_a_write_that_may_still_arrive_is_the_only_one(tmp_path: Path) -> None:
    async with on(tmp_path, auto(**ON), *ten()) as running:
        running.server.faults.add(Fault("/ipamclaims/vm", method="DELETE", skip=1, answer=lambda *_: LOST))
        await running.run()
        running.server.faults.clear()
        assert [await later(running, 30) for _ in range(3)] == [0, 0, 0]
        assert events(running) == ["intended", "unclear"]
        running.timer[0] += 200  # it can't arrive any more: it turns out that it was not made, and so is no trial
        assert await later(running, 30) == 1
        assert events(running) == ["intended", "unclear", "resolved", "intended", "done"]


async def test_without_it_the_budget_alone_holds(tmp_path: Path) -> None:
    own = {"delete_orphan_ipam_claim": {"mode": "auto", "minAge": "0s", "canary": {"enabled": False}}}
    async with on(tmp_path, {**ON, "remediations": own}, *ten()) as running:
        assert await running.run() == 10
        assert running.sidecar._context.measures.standing.canaries == []
        assert all(not each.canary for each in running.ledger.entries())
