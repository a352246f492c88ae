"""The sidecar's server and the exporter that follows it, together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from exporter.serve.application import serving
from exporter.sidecar import ReportedBlock, ReportedProposal, ReportedRefusal, ReportedRepair
from reconcile.app import build
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.decide.canary import ShownCanary
from reconcile.decide.gates import Blocked
from reconcile.decide.repair import Repair
from reconcile.plan.plan import Proposal, Refused
from reconcile.plan.remediations import all_remediations
from tests.reported_repairs import Heard, following

MODES = {each.id: "plan" for each in all_remediations()}
WHOLE = Repair(
    fingerprint="f1",
    remediation="release_ipam_claim",
    check="ipam_claims",
    reason="StuckTerminatingOwnerGone",
    namespace="ns",
    mode="auto",
    state="blocked",
    at=1_790_000_000.5,
    hash="3f9c2a0011223344",
    target="IPAMClaim ns/db.blue",
    write="patch IPAMClaim ns/db.blue: remove /metadata/finalizers/0",
    why="Its VM is gone.",
    effect="The IPAMClaim goes.",
    risk="address",
    undo="none",
    loses=("10.0.0.5/24",),
    proposal=Proposal(owner="Argo CD", where="In Git.", patch="a: 1"),
    refused=Refused("no_pod_uses_it", "a pod uses it"),
    blocked=(Blocked("window", "it opens at 22:00", 1_790_000_060.0), Blocked("paused", "ns is paused")),
    commands=("steward reconcile approve f1 --plan 3f9c2a0011223344",),
)


@asynccontextmanager
async def followed(board: ShownRepairs, instance: str) -> AsyncIterator[tuple[Heard, Measures]]:
    measures = Measures(all_remediations(), MODES, board)
    async with serving(build(board, measures, MODES, instance), "127.0.0.1", 0) as url, following(url) as heard:
        yield heard, measures


def shown(heard: Heard, fingerprint: str = "f1") -> tuple[ReportedRepair, ...]:
    found = heard.of(fingerprint)
    assert isinstance(found, tuple)
    return found


async def test_all_that_the_sidecar_serves_arrives() -> None:
    board = ShownRepairs()
    await board.put(WHOLE)
    async with followed(board, "a") as (heard, measures):
        assert await heard.next() == ""
        assert heard.plans is not None
        assert (heard.plans.leading, heard.plans.modes) == (measures.standing.leading, MODES)
        (repair,) = shown(heard)
        same = {name: getattr(WHOLE, name) for name in ReportedRepair.__struct_fields__}
        assert msgspec.structs.asdict(repair) == {
            **same,
            "proposal": ReportedProposal(owner="Argo CD", where="In Git.", patch="a: 1"),
            "refused": ReportedRefusal(precondition="no_pod_uses_it", why="a pod uses it"),
            "blocked": (
                ReportedBlock(gate="window", why="it opens at 22:00", until=1_790_000_060.0),
                ReportedBlock(gate="paused", why="ns is paused"),
            ),
        }


async def test_an_object_that_is_in_the_way_of_many_repairs_arrives_as_one_cause() -> None:
    board = ShownRepairs()
    refused = Refused("everything_seen", "annotation a could not be read", "Pod ns/web", "mend it")
    for at in range(9):
        await board.put(msgspec.structs.replace(WHOLE, fingerprint=f"f{at}", refused=refused))
    await board.put(msgspec.structs.replace(WHOLE, fingerprint="other"))
    async with followed(board, "a") as (heard, _):
        assert await heard.next() == ""
        assert heard.plans is not None
        (cause,) = heard.plans.unseen
        assert (cause.object, cause.repairs, cause.why) == ("Pod ns/web", 9, "annotation a could not be read")
        assert cause.remedy == "mend it"


async def test_a_canary_that_has_stopped_arrives() -> None:
    canary = ShownCanary(
        remediation="repair", state="stopped", object="PDB ns/web", attempt="a-7", why="it came back", at=1.0
    )
    board = ShownRepairs()
    async with followed(board, "a") as (heard, measures):
        measures.standing.canaries = [canary]
        assert await heard.next() == ""
        assert heard.plans is not None
        (told,) = heard.plans.canaries
        assert msgspec.structs.asdict(told) == msgspec.structs.asdict(canary)


async def test_each_change_of_the_board_arrives_by_the_long_poll() -> None:
    board = ShownRepairs()
    async with followed(board, "a") as (heard, _):
        assert await heard.next() == ""
        assert shown(heard) == ()
        for state in ("planned", "waiting", "verifying", "failed"):
            await board.put(msgspec.structs.replace(WHOLE, state=state))
            while [each.state for each in shown(heard)] != [state]:
                assert await heard.next() == ""
        await board.keep(())
        while shown(heard):
            assert await heard.next() == ""
        assert heard.unknown_since is None
