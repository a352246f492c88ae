"""Attempts on an API server: what is written, in which order it is kept, and what ends one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.errors import ApiError
from exporter.kube import sending
from exporter.kube.clocks import boottime
from reconcile.carry_out.attempt import AttemptState, Result
from reconcile.carry_out.confirm import Confirmed, confirm_undo
from reconcile.ledger import Event
from reconcile.ledger.attempts import taken
from reconcile.ledger.history import History
from reconcile.ledger.settling import ARRIVES
from reconcile.plan.plan import Refused
from reconcile.plan.remediations import undo_of
from reconcile.plan.remediations.networks.delete_orphan_ipam_claim import REMEDIATION
from reconcile.plan.remediations.networks.release_ipam_claim import REMEDIATION as RELEASE
from reconcile.plan.remediations.networks.repair_ipam_claim_metadata import REMEDIATION as REPAIR
from reconcile.plan.undo import Undo

from ....confirming import hint_of
from ....evaluation import NOW
from ....fakeapi.apiserver import FakeApiServer
from ....fakeapi.faults import Fault
from ....repairing import Repairing, permitted, repairing
from ....rows import full
from ....secure_server import config

ABOUT = {"check": "ipam_claims", "reason": "OrphanClaim", "kind": "IPAMClaim", "subject": "db.blue"}
ROW = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/24"]}
CLAIM = full(ROW)
PATH = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/ns/ipamclaims/db.blue"


@asynccontextmanager
async def on(tmp_path: Path, *objects: Any, **how: Any) -> AsyncIterator[tuple[FakeApiServer, Repairing]]:
    server = FakeApiServer()
    server.load([full({"kind": "Namespace", "name": "ns"}), *objects])
    await server.start()
    try:
        kubeconfig = config(tmp_path / "kubeconfig", server.url)
        async with repairing(kubeconfig, tmp_path / "ledger", **how) as made:
            yield server, made
    finally:
        await server.stop()


def writes(server: FakeApiServer) -> list[tuple[str, str]]:
    return [(each.method, each.path) for each in server.requests if each.method != "GET"]


async def test_dry_run_then_the_write_then_an_event(tmp_path: Path) -> None:
    async with on(tmp_path, CLAIM) as (server, made):
        result = await made.repair(REMEDIATION, hint_of(ABOUT, [CLAIM]))

        assert result.state == AttemptState.DONE, result
        assert writes(server) == [("DELETE", PATH), ("DELETE", PATH), ("POST", "/api/v1/namespaces/ns/events")]
        assert [each.event for each in made.entries()] == [Event.INTENDED, Event.DONE]
        intended, done = made.entries()
        assert intended.whole is not None
        assert intended.whole["metadata"]["uid"] == CLAIM["metadata"]["uid"]
        assert done.whole is not None
        assert done.whole["metadata"]["deletionTimestamp"]
        assert made.reached == [
            "made",
            "dry_run",
            "made_again",
            "intended",
            "fenced",
            "written",
            "read_back",
            "looked_again",
            "event",
            "done",
        ]


async def test_what_changes_between_the_two_looks_is_not_written(tmp_path: Path) -> None:
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})

    async with on(tmp_path, CLAIM) as (server, made):
        looks = 0

        async def permit(_: Confirmed) -> Refused | None:
            nonlocal looks
            looks += 1
            server.load([vm])
            return None

        result = await made.repair(REMEDIATION, hint_of(ABOUT, [CLAIM]), permit)

        assert (result.state, result.refused, looks) == (AttemptState.REFUSED, "finding_holds", 1)
        assert len(writes(server)) == 1  # the dry run
        assert made.entries() == []


async def test_a_gate_that_closes_in_between_refuses(tmp_path: Path) -> None:
    async with on(tmp_path, CLAIM) as (server, made):
        answers = [None, Refused("paused", "somebody paused the namespace")]

        async def permit(_: Confirmed) -> Refused | None:
            return answers.pop(0)

        result = await made.repair(REMEDIATION, hint_of(ABOUT, [CLAIM]), permit)

        assert (result.state, result.refused) == (AttemptState.REFUSED, "paused")
        assert made.entries() == []
        assert len(writes(server)) == 1


@pytest.mark.parametrize(
    ("status", "event", "state"),
    [
        (409, Event.FAILED, AttemptState.REFUSED),
        (403, Event.FAILED, AttemptState.FAILED),
        (500, Event.UNCLEAR, AttemptState.UNCLEAR),
    ],
)
async def test_the_answer_decides(tmp_path: Path, status: int, event: Event, state: str) -> None:
    def fail(step: str) -> None:
        if step == "fenced":
            refusal = ApiError(status, "Refused", "as the test wants it")
            server.faults.add(Fault("/ipamclaims/db.blue", method="DELETE", answer=lambda *_: refusal))

    async with on(tmp_path, CLAIM, reached=fail) as (server, made):
        result = await made.repair(REMEDIATION, hint_of(ABOUT, [CLAIM]))

        assert result.state == state
        assert [each.event for each in made.entries()] == [Event.INTENDED, event]
        assert bool(made.ledger.unfinished()) is (event is Event.UNCLEAR)


async def test_what_was_answered_happened_also_where_somebody_changed_it_since(tmp_path: Path) -> None:
    """Between the answer and the look at the object, which doesn't show the effect then."""
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})
    nad = full({"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"})
    claim = full({**ROW, "finalizers": []})
    servers: list[FakeApiServer] = []

    def reached(step: str) -> None:
        if step == "written":
            servers[0].patch("ipamclaims", "ns", "db.blue", {"metadata": {"finalizers": []}})

    async with on(tmp_path, claim, vm, nad, reached=reached) as (server, made):
        servers.append(server)
        result = await made.repair(REPAIR, hint_of({**ABOUT, "reason": "UnprotectedClaim"}, [claim]))

        assert result.state == AttemptState.DONE, result
        intended, done = made.entries()
        assert (intended.event, done.event) == (Event.INTENDED, Event.DONE)
        assert "another client has changed the object since" in done.why


@pytest.mark.parametrize("touched", [False, True])
async def test_what_came_of_a_patch_that_was_not_answered_is_not_known_where_somebody_wrote_since(
    tmp_path: Path, touched: bool
) -> None:
    """They may have overwritten it, or been the first."""
    passed, claim = [0.0], full({**ROW, "finalizers": []})
    vm, nad = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"}), NADS[0]

    def lose(step: str) -> None:
        if step == "fenced":
            lost = ApiError(504, "Timeout", "the request timed out")
            server.faults.add(Fault("/ipamclaims/db.blue", method="PATCH", answer=lambda *_: lost))

    async with on(tmp_path, claim, vm, nad, reached=lose, timer=lambda: passed[0]) as (server, made):
        result = await made.repair(REPAIR, hint_of({**ABOUT, "reason": "UnprotectedClaim"}, [claim]))
        assert result.state == AttemptState.UNCLEAR, result
        if touched:
            server.patch("ipamclaims", "ns", "db.blue", {"metadata": {"labels": {"touched": "yes"}}})
        else:
            passed[0] = ARRIVES
        (intended,) = made.ledger.unfinished()

        result = await made.attempts.settle(intended)

        assert result.state == AttemptState.FAILED
        resolved = made.entries()[-1]
        assert (resolved.event, resolved.happened) == (Event.RESOLVED, None if touched else False)
        so = "either it did not happen, or another client has reverted it" if touched else "it did not happen"
        assert result.why == f"it had no response; IPAMClaim ns/db.blue doesn't show the effect: {so}"
        assert made.ledger.unfinished() == []
        with pytest.raises(ValueError, match="it is unknown whether" if touched else "changed nothing"):
            taken(made.entries(), resolved.attempt)
        assert len(History.of(made.entries(), NOW).executed(0.0)) == (1 if touched else 0)


async def test_an_attempt_without_an_end_is_settled_by_the_object(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def kill(step: str) -> None:
        if step == at:
            raise Killed

    async def run() -> tuple[Result, list[Event], int]:
        passed = [0.0]
        async with on(tmp_path / at, CLAIM, reached=kill, timer=lambda: passed[0]) as (server, made):
            with pytest.raises(Killed):
                await made.repair(REMEDIATION, hint_of(ABOUT, [CLAIM]))
            (intended,) = made.ledger.unfinished()
            if not done:
                assert (await made.attempts.settle(intended)).state == AttemptState.UNCLEAR
                passed[0] = ARRIVES
            result = await made.attempts.settle(intended)
            deletes = [each for each in writes(server) if each[0] == "DELETE"]
            return result, [each.event for each in made.entries()], len(deletes)

    for at, done in (("intended", False), ("fenced", False), ("written", True), ("read_back", True), ("event", True)):
        (tmp_path / at).mkdir()
        result, events, deletes = await run()
        assert result.state == (AttemptState.DONE if done else AttemptState.FAILED), at
        assert events == [Event.INTENDED, Event.RESOLVED]
        assert deletes == 1 + done


STUCK = {**ABOUT, "reason": "StuckTerminatingOwnerGone"}
STUCK_CLAIM = full({**ROW, "deleting": True})


NADS = [full({"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"})]
CAME = full({"kind": "Pod", "name": "came", "claims": ["db.blue"]})


@pytest.mark.parametrize("settles", [False, True])
async def test_what_came_while_an_address_was_released_is_said_loudly(
    tmp_path: Path, settles: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A pod is created between the last look and the write. With `settles` the process is killed right after that."""

    class Killed(BaseException):
        pass

    def come(step: str) -> None:
        if step == "fenced":
            server.load([CAME])
        if step == "written" and settles:
            raise Killed

    async with on(tmp_path, STUCK_CLAIM, *NADS, reached=come) as (server, made):
        if settles:
            with pytest.raises(Killed):
                await made.repair(RELEASE, hint_of(STUCK, [STUCK_CLAIM]))
            (intended,) = made.ledger.unfinished()
            result = await made.attempts.settle(intended)
        else:
            result = await made.repair(RELEASE, hint_of(STUCK, [STUCK_CLAIM]))

        assert result.state == AttemptState.DONE, result
        said = "IPAMClaim ns/db.blue was released while in use: Pod ns/came refers to it. "
        assert result.why.startswith(said)
        assert "can allocate 10.0.0.5 a second time" in result.why
        ends = [Event.INTENDED, Event.IN_USE, Event.RESOLVED if settles else Event.DONE]
        assert [each.event for each in made.entries()] == ends
        assert made.entries()[1].why == result.why
        events = [json.loads(each.body) for each in server.requests if each.path.endswith("/events")]
        assert [(each["reason"], each["type"]) for each in events] == [
            ("ReleasedInUse", "Warning"),
            ("Repaired", "Normal"),
        ]
        assert "Pod ns/came" not in events[0]["message"]  # it may be of a namespace that the reader must not see
        assert f"steward reconcile ledger {result.attempt}" in events[0]["message"]
        assert [each.levelname for each in caplog.records if "released address in use" in each.message] == ["ERROR"]


async def test_who_runs_with_an_address_that_was_taken_back_is_said_loudly(tmp_path: Path) -> None:
    """Somebody has accepted to lose it, and the VM is started between the last look and the write."""
    vm = full({"kind": "VirtualMachine", "name": "db", "uid": "u1"})
    claim = full({**ROW, "finalizers": []})
    comes = False

    def come(step: str) -> None:
        if step == "fenced" and comes:
            server.load([CAME])

    async with on(tmp_path, claim, vm, *NADS, reached=come) as (server, made):
        done = await made.repair(REPAIR, hint_of({**ABOUT, "reason": "UnprotectedClaim"}, [claim]))
        server.delete("ipamclaims", "ns", "db.blue")
        own = replace(taken(made.entries(), done.attempt), by="alice", accepted=("address",))
        undo, comes = undo_of(REPAIR.id), True
        assert isinstance(undo, Undo)

        result = await made.attempts.run(
            lambda: confirm_undo(own, undo, made.reads, now=NOW), permitted, mode="undo", undoes=done.attempt
        )

        assert result.state == AttemptState.DONE, result
        assert "was released while in use: Pod ns/came refers to it" in result.why
        assert [each.event for each in made.entries()][2:] == [Event.INTENDED, Event.IN_USE, Event.DONE]


async def test_nobody_came(tmp_path: Path) -> None:
    async with on(tmp_path, STUCK_CLAIM, *NADS) as (_, made):
        result = await made.repair(RELEASE, hint_of(STUCK, [STUCK_CLAIM]))

        assert (result.state, result.why) == (AttemptState.DONE, "")
        assert [each.event for each in made.entries()] == [Event.INTENDED, Event.DONE]


async def test_who_came_that_can_t_be_seen_keeps_it_unclear(tmp_path: Path) -> None:
    passed = [0.0]

    def blind(step: str) -> None:
        if step == "written":
            away = ApiError(503, "ServiceUnavailable", "away")
            server.faults.add(Fault("/pods", answer=lambda *_: away))

    async with on(tmp_path, STUCK_CLAIM, *NADS, reached=blind, timer=lambda: passed[0]) as (server, made):
        result = await made.repair(RELEASE, hint_of(STUCK, [STUCK_CLAIM]))
        assert result.state == AttemptState.UNCLEAR, result
        assert "who uses what it released can't be seen: " in result.why
        assert "can't see pods: can't list pods in all namespaces: 503 away" in result.why
        assert History.of(made.entries(), NOW).failures(RELEASE.id).count == 0
        (intended,) = made.ledger.unfinished()
        assert (await made.attempts.settle(intended)).state == AttemptState.UNCLEAR
        passed[0] = ARRIVES

        result = await made.attempts.settle(intended)

        assert result.state == AttemptState.DONE
        assert result.why.endswith("Check by hand whether the address is in use")
        assert [each.event for each in made.entries()][2:] == [Event.UNSEEN, Event.RESOLVED]
        assert made.entries()[2].why == result.why
        events = [json.loads(each.body)["reason"] for each in server.requests if each.path.endswith("/events")]
        assert events == ["Repaired"]
        known = History.of(made.entries(), NOW)
        assert (known.in_use(0.0), known.unseen(0.0), known.failures(RELEASE.id).count) == (0, 1, 0)
        assert known.unfinished() == []


async def test_it_is_not_sent_later_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process stands still right before the write, behind the last look at the time."""

    def stand_still(step: str) -> None:
        if step == "fenced":
            monkeypatch.setattr(sending, "boottime", lambda: boottime() + RELEASE.send_seconds)

    async with on(tmp_path, STUCK_CLAIM, *NADS, reached=stand_still) as (server, made):
        result = await made.repair(RELEASE, hint_of(STUCK, [STUCK_CLAIM]))

        assert (result.state, result.refused) == (AttemptState.REFUSED, "read_just_now")
        assert [each[0] for each in writes(server)] == ["PATCH"]  # the dry run
        assert [each.event for each in made.entries()] == [Event.INTENDED, Event.FAILED]
        assert made.entries()[1].why.startswith("not written: ")
