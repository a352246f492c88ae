"""One leader among replicas, at every instant, whatever happens to the lease, the clocks and the connections."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import kubeconfig
from reconcile.carry_out.lease import Election
from reconcile.carry_out.lease_record import PREFIX, Contender, LeaseRecord, NotLeadingError, Tenure

from ....all_of import each_of
from ....electing import Cable, Clock, Replicas, electing
from ....fakeapi.apiserver import FakeApiServer
from ....fakeapi.faults import Fault, forbidden, internal_error, too_many_requests, unauthorized, unavailable

HOURS = 3600.0


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    server = FakeApiServer()
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "steward"}})
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def replicas(server: FakeApiServer, tmp_path: Path) -> AsyncIterator[Replicas]:
    async with electing(kubeconfig(tmp_path, server.url), duration=15.0, renew=1.0, margin=2.0) as replicas:
        yield replicas


def lease(server: FakeApiServer) -> dict[str, Any]:
    return server.get("leases", "steward", "steward")


def edit(server: FakeApiServer, **patch: Any) -> None:
    server.patch("leases", "steward", "steward", patch)


def given_up(server: FakeApiServer) -> None:
    """There is a lease that the next one may have at once."""
    annotations = {PREFIX + "lease-process": "p0", PREFIX + "lease-released": "p0"}
    meta = {"namespace": "steward", "name": "steward", "annotations": annotations}
    server.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta})


def writes(server: FakeApiServer) -> int:
    return sum(call.method != "GET" for call in server.requests)


async def test_one_of_three_leads_and_the_others_know_whom(server: FakeApiServer, replicas: Replicas) -> None:
    started = [replicas.start(identity) for identity in "abc"]
    leader = await replicas.one_leads()
    for each in started:
        await each.until(lambda election: election.leader == leader.election.leader, "all know the leader")
    spec = lease(server)["spec"]
    assert spec["holderIdentity"] == leader.election.leader
    assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (15, 1)
    assert spec["renewTime"].endswith("Z")
    assert leader.election.problem == ""


async def test_a_leader_that_ends_gives_the_lease_up_and_the_next_need_not_wait(
    server: FakeApiServer, replicas: Replicas
) -> None:
    leader, other = await replicas.led_by("a", "b")
    before = replicas.clock()
    await leader.end()
    assert not leader.election.leading
    with pytest.raises(NotLeadingError, match="was released"):
        await leader.election.assure(1)
    await other.until(lambda election: election.leading, "the other one leads")
    assert replicas.clock() - before < 10  # of 15
    assert lease(server)["spec"]["leaseTransitions"] == 2
    assert PREFIX + "lease-released" not in lease(server)["metadata"]["annotations"]


async def test_a_leader_that_is_cut_off_stops_before_another_one_starts(
    server: FakeApiServer, replicas: Replicas
) -> None:
    leader, other = await replicas.led_by("a", "b")
    leader.transport.down = True
    await leader.until(lambda election: "cable is cut" in election.problem, "it can't renew")
    assert leader.election.leading  # still, for some seconds
    assert await replicas.one_leads(but=[leader]) is other
    assert not leader.election.leading
    with pytest.raises(NotLeadingError):
        await leader.election.assure(1)
    leader.transport.down = False
    await leader.until(lambda election: election.leader == "b", "it knows the new leader")
    assert leader.election.problem == ""
    assert lease(server)["spec"]["holderIdentity"] == "b"


async def test_wall_clocks_that_differ_by_hours_change_nothing(server: FakeApiServer, replicas: Replicas) -> None:
    leader, *others = [
        (await replicas.led_by("a", wall=lambda: time.time() - 5 * HOURS))[0],
        replicas.start("b", wall=lambda: time.time() + 7 * HOURS),
        replicas.start("c", wall=lambda: 0.0),
    ]
    renewed = lease(server)["metadata"]["resourceVersion"]
    for each in others:
        await each.until(lambda election: election.leader == "a", "it knows the leader")
    while int(lease(server)["metadata"]["resourceVersion"]) < int(renewed) + 2:
        await leader.until(lambda election: election.leading, "it leads")
        await asyncio.sleep(0.02)
    assert replicas.leading() == [leader]
    leader.transport.down = True
    assert await replicas.one_leads(but=[leader]) in others


@pytest.mark.parametrize(
    "spec",
    [
        {"renewTime": "2999-01-01T00:00:00.000000Z"},
        {"renewTime": "1970-01-01T00:00:00.000000Z", "leaseDurationSeconds": 1},
        {"renewTime": 5, "acquireTime": {}, "leaseTransitions": -7, "leaseDurationSeconds": "ten"},
        {"leaseDurationSeconds": 2**31 - 1, "leaseTransitions": 2**31 - 1},
    ],
)
async def test_edited_times_change_nothing_while_the_leader_renews(
    server: FakeApiServer, replicas: Replicas, spec: dict[str, Any]
) -> None:
    leader, other = await replicas.led_by("a", "b")
    edit(server, spec=spec)
    await leader.election.publish({"seen": "yes"})
    await other.until(lambda election: election.state == {"seen": "yes"}, "it sees the next renewal")
    assert replicas.leading() == [leader]
    assert lease(server)["spec"]["leaseDurationSeconds"] == 15
    assert 0 <= lease(server)["spec"]["leaseTransitions"] < 2**31


@pytest.mark.parametrize(
    "spec",
    [{"holderIdentity": None}, {"holderIdentity": ""}, {"leaseDurationSeconds": 1}, {"leaseDurationSeconds": -9}],
)
async def test_whatever_is_edited_none_starts_before_the_time_of_the_leader_is_up(
    server: FakeApiServer, replicas: Replicas, spec: dict[str, Any]
) -> None:
    leader, other = await replicas.led_by("a", "b")
    leader.transport.down = True  # it can't know yet
    edit(server, spec=spec)
    await leader.until(lambda election: "cable is cut" in election.problem, "it can't renew")
    assert replicas.leading() == [leader]
    assert await replicas.one_leads(but=[leader]) is other


@pytest.mark.parametrize("holder", ["somebody", "b", ""])
async def test_a_leader_whose_lease_is_given_to_somebody_else_stops(
    server: FakeApiServer, replicas: Replicas, holder: str
) -> None:
    leader, other = await replicas.led_by("a", "b")
    edit(server, spec={"holderIdentity": holder})
    await leader.until(lambda election: not election.leading, "it stops")
    await other.until(lambda election: election.leader == holder, "the other one knows")
    assert not other.election.leading  # although it may be its name
    await replicas.one_leads()


async def test_a_deleted_lease_is_created_without_a_holder_and_waited_for(
    server: FakeApiServer, replicas: Replicas
) -> None:
    leader, other = await replicas.led_by("a", "b")
    leader.transport.down = True  # it can't know yet
    server.delete("leases", "steward", "steward")
    await other.until(lambda election: election.leader == "", "it knows")
    assert leader.election.leading
    assert await replicas.one_leads(but=[leader]) is other
    leader.transport.down = False
    server.delete("leases", "steward", "steward")
    await other.until(lambda election: not election.leading, "it stops")
    await replicas.one_leads()


async def test_the_fence_notices_a_deleted_lease_before_the_next_renewal(server: FakeApiServer, tmp_path: Path) -> None:
    given_up(server)
    async with electing(kubeconfig(tmp_path, server.url), duration=600.0, renew=200.0) as replicas:
        (leader,) = await replicas.led_by("a")
        server.delete("leases", "steward", "steward")
        replicas.clock.advance(1.1)
        assert leader.election.leading
        with pytest.raises(NotLeadingError):
            await leader.election.assure(5)
        assert not leader.election.leading


async def test_the_fence_renews_what_is_too_old_or_too_short_and_nothing_else(
    server: FakeApiServer, tmp_path: Path
) -> None:
    given_up(server)
    async with electing(kubeconfig(tmp_path, server.url), duration=600.0, renew=200.0, margin=10.0) as replicas:
        (leader,) = await replicas.led_by("a")
        replicas.clock.stop()
        await leader.election.assure(30)
        before = writes(server)
        await leader.election.assure(30)
        assert writes(server) == before
        replicas.clock.advance(1.1)
        await asyncio.gather(*(leader.election.assure(30) for _ in range(5)))
        assert writes(server) == before + 1
        with pytest.raises(NotLeadingError, match="a write needs 591 s"):
            await leader.election.assure(591)

        replicas.clock.advance(1.1)
        server.faults.add(Fault("/leases", answer=internal_error(), times=1))
        with pytest.raises(NotLeadingError, match="couldn't be renewed before a write: 500"):
            await leader.election.assure(30)
        await leader.election.assure(30)


async def test_a_computer_that_slept_leads_no_more_when_it_wakes_up(server: FakeApiServer, tmp_path: Path) -> None:
    given_up(server)
    async with electing(kubeconfig(tmp_path, server.url), duration=600.0, renew=200.0) as replicas:
        (leader,) = await replicas.led_by("a")
        asked = len(server.requests)
        replicas.clock.advance(598.1)
        assert not leader.election.leading
        with pytest.raises(NotLeadingError):
            await leader.election.assure(0)
        assert len(server.requests) == asked


async def test_a_slow_answer_gives_only_the_time_that_is_left_since_it_was_asked_for(
    server: FakeApiServer, tmp_path: Path
) -> None:
    given_up(server)
    async with electing(kubeconfig(tmp_path, server.url), duration=600.0, renew=200.0, margin=100.0) as replicas:
        (leader,) = await replicas.led_by("a")
        replicas.clock.advance(1.1)
        server.faults.add(Fault("/leases", method="PUT", times=1, before=lambda: replicas.clock.advance(400)))
        with pytest.raises(NotLeadingError, match=r"for (99\.\d|100\.0) s more, and a write needs 101 s"):
            await leader.election.assure(101)


async def test_one_that_waits_less_by_its_own_configuration_waits_as_long_as_the_leader_leads(
    server: FakeApiServer, replicas: Replicas
) -> None:
    leader, _ = await replicas.led_by("a", "b", duration=60.0)
    other = replicas.start("c", duration=15.0)
    await other.until(lambda election: election.leader == "a", "it knows the leader")
    leader.transport.down = True
    await replicas.one_leads(but=[leader])
    assert not leader.election.leading


async def test_an_answer_that_is_lost_gives_no_time_and_the_lease_goes_on_once_it_is_read(
    server: FakeApiServer, replicas: Replicas
) -> None:
    leader, _ = await replicas.led_by("a", "b")
    leader.transport.deaf = True
    version = lease(server)["metadata"]["resourceVersion"]
    await leader.until(lambda election: "answer is lost" in election.problem, "it heard nothing")
    assert lease(server)["metadata"]["resourceVersion"] != version  # it was renewed all the same
    replicas.clock.advance(13.5)
    assert not leader.election.leading
    await leader.until(lambda election: not election.leading, "it stops")
    leader.transport.deaf = False
    await replicas.one_leads(speed=1)
    assert lease(server)["spec"]["holderIdentity"] in ("a", "b")


async def test_a_write_that_arrives_late_takes_nothing_back(server: FakeApiServer, replicas: Replicas) -> None:
    leader, other = await replicas.led_by("a", "b")
    arrives = leader.transport.hold_back()
    await leader.until(lambda election: "on its way" in election.problem, "a renewal is under way")
    leader.transport.down = True
    assert await replicas.one_leads(but=[leader]) is other
    arrives.set()
    assert leader.transport.late is not None
    assert (await leader.transport.late).startswith("409 ")
    assert lease(server)["spec"]["holderIdentity"] == "b"


async def test_who_waits_for_changes_keeps_nobody_from_renewing(server: FakeApiServer, replicas: Replicas) -> None:
    leader, _ = await replicas.led_by("a", "b")
    async with leader.election.changed:
        replicas.clock.advance(1.1)
        await leader.election.assure(1)
        await leader.election.publish({"seen": "yes"})
    await leader.until(lambda election: election.state == {"seen": "yes"}, "it is notified")


async def test_two_of_one_name_do_not_lead_at_once(server: FakeApiServer, replicas: Replicas) -> None:
    leader, other = await replicas.led_by("steward", "steward")
    await other.until(lambda election: election.leader == "steward", "it sees its own name")
    assert replicas.leading() == [leader]
    await leader.end()
    await other.until(lambda election: election.leading, "it leads")


async def test_what_travels_with_the_lease_is_kept_and_seen_by_all(server: FakeApiServer, replicas: Replicas) -> None:
    leader, other = await replicas.led_by("a", "b")
    edit(server, metadata={"annotations": {"other.example.org/x": "1", PREFIX + "paused": "by hand"}})
    await leader.election.publish({"writes": '{"hour":3}', "old": "1"})
    await leader.election.publish({"old": None})
    seen = {"paused": "by hand", "writes": '{"hour":3}'}
    assert leader.election.state == seen
    await other.until(lambda election: election.state == seen, "it sees the state")
    with pytest.raises(NotLeadingError, match="its holder is 'a'"):
        await other.election.publish({"writes": ""})
    with pytest.raises(ValueError, match="is the election's own"):
        await leader.election.publish({"lease-process": "x"})
    await leader.end()
    await other.until(lambda election: election.leading, "it leads")
    assert other.election.state == seen
    assert lease(server)["metadata"]["annotations"]["other.example.org/x"] == "1"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (internal_error(), "500"),
        (unavailable(), "503"),
        (too_many_requests(), "429"),
        (unauthorized(), "401"),
        (forbidden(), "403 .*Grant get, create and update of leases"),
    ],
)
async def test_refusals_are_said_and_survived(
    server: FakeApiServer, replicas: Replicas, answer: Any, says: str
) -> None:
    fault = server.faults.add(Fault("/leases", answer=answer))
    replica = replicas.start("a")
    await replica.until(lambda election: re.search(f"^can't hold .*{says}", election.problem), "it says what is wrong")
    with pytest.raises(NotLeadingError, match=r"this replica doesn't hold Lease steward/steward: can't hold "):
        await replica.election.assure(1)
    server.faults.remove(fault)
    assert await replicas.one_leads() is replica
    await replica.until(lambda election: not election.problem, "all is well")


async def test_a_server_that_freezes_or_cuts_its_answers_is_survived(server: FakeApiServer, replicas: Replicas) -> None:
    leader, _ = await replicas.led_by("a", "b")
    for fault in (Fault("/leases", frozen=True), Fault("/leases", cut_after=20)):
        server.faults.add(fault)
        await leader.until(lambda election: election.problem, "it can't renew")
        replicas.clock.advance(13.5)
        assert replicas.leading() == []
        server.faults.remove(fault)
        await replicas.one_leads()
        await leader.until(lambda election: not election.problem, "all is well")


async def test_a_server_that_comes_back_is_led_again(server: FakeApiServer, replicas: Replicas) -> None:
    leader, other = await replicas.led_by("a", "b")
    port = int(server.url.rpartition(":")[2])
    await server.stop()
    replicas.clock.advance(14)
    for each in (leader, other):
        await each.until(lambda election: election.problem and not election.leading, "nobody leads")
    await server.start(port=port)
    await replicas.one_leads()


@pytest.mark.parametrize(
    "odd",
    [
        {"spec": None},
        {"spec": {"holderIdentity": 5, "renewTime": [], "leaseDurationSeconds": "x", "leaseTransitions": None}},
        {"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 10**9, "leaseTransitions": 10**12}},
        {"metadata": {"annotations": {PREFIX + "lease-released": "x"}}},
        {"metadata": {"annotations": {PREFIX + "lease-process": "", PREFIX + "lease-released": ""}}},
    ],
)
async def test_a_lease_with_odd_fields_is_waited_for_and_taken(
    server: FakeApiServer, replicas: Replicas, odd: dict[str, Any]
) -> None:
    meta = {"namespace": "steward", "name": "steward"} | odd.get("metadata", {})
    server.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"} | odd | {"metadata": meta})
    before = replicas.clock()
    replica = replicas.start("a")
    assert await replicas.one_leads() is replica
    assert replicas.clock() - before > 15
    assert lease(server)["spec"]["leaseTransitions"] in (1, 2**31 - 1)


@each_of(
    "whole",
    [
        {},
        {"kind": "Lease"},
        {"kind": "Lease", "metadata": {"namespace": "n", "name": "l", "uid": "u"}},
        {"kind": "Lease", "metadata": {"namespace": "n", "name": "l", "uid": "u", "resourceVersion": ""}},
        {"kind": "Status", "metadata": {"namespace": "n", "name": "l", "uid": "u", "resourceVersion": "1"}},
        {"kind": "Lease", "metadata": {"namespace": "n", "name": "x", "uid": "u", "resourceVersion": "1"}},
    ],
)
def test_what_a_write_could_not_be_bound_to_is_no_lease(whole: dict[str, Any]) -> None:
    assert not LeaseRecord(whole).is_of("n", "l")


def test_a_write_is_bound_to_what_was_read_and_keeps_what_others_wrote() -> None:
    me = Contender("n", "l", "a", "p1", 14.2)
    meta = {"namespace": "n", "name": "l", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}}
    record = LeaseRecord({"kind": "Lease", "metadata": meta | {"managedFields": [1]}, "spec": {"strategy": "s"}})
    body = record.held(me, 1.5)
    assert body["metadata"] == meta | {"annotations": {PREFIX + "lease-process": "p1"}}
    assert body["spec"] == {
        "strategy": "s",
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "1970-01-01T00:00:01.500000Z",
        "renewTime": "1970-01-01T00:00:01.500000Z",
        "leaseTransitions": 1,
    }


def test_time_counts_from_before_a_write_was_sent() -> None:
    clock = Clock()
    tenure = Tenure(15, 2, clock)
    assert (tenure.left, tenure.age) == (0, float("inf"))
    sent = clock()
    clock.advance(10)
    tenure.renewed(sent)
    assert 2.9 < tenure.left <= 3
    tenure.renewed(sent - 5)
    assert tenure.left > 2.9
    clock.advance(3)
    assert tenure.left == 0


@pytest.mark.parametrize(
    "times", [{"renew": 7.0}, {"margin": 6.0}, {"duration": 601.0}, {"margin": -1.0}, {"renew": 0.0}, {"identity": ""}]
)
def test_times_without_room_for_two_renewals_are_refused(times: dict[str, Any], tmp_path: Path) -> None:
    transport = Cable.from_environment(str(kubeconfig(tmp_path, "http://127.0.0.1:1")))
    given = {"namespace": "n", "name": "l", "identity": "a"} | times
    with pytest.raises(ValueError, match="time for two renewals"):
        Election(transport, **given)
