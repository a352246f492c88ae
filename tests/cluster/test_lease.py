"""The election against a real API server: what it does with writes of a Lease that is gone or was written by others."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.kube.errors import StatusError
from exporter.kube.transport import Transport
from reconcile.carry_out.lease_record import PREFIX, Contender, LeaseApi, NotLeadingError, unheld
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.resources import LEASES
from tests.electing import Replicas, electing
from tests.waiting import wait_until

TIMES = {"duration": 5.0, "renew": 0.5, "margin": 1.0}
HOURS = 3600.0


@pytest.fixture
async def replicas(api_server: ApiServer, namespace: str) -> AsyncIterator[Replicas]:
    async with electing(api_server.kubeconfig("admin"), namespace=namespace, **TIMES) as replicas:
        yield replicas


def lease(client: Client, namespace: str) -> Any:
    return client.get(LEASES, namespace, "steward")


async def test_one_of_three_leads_and_the_next_takes_over_what_travels_with_it(
    client: Client, namespace: str, replicas: Replicas
) -> None:
    walls = {"a": -9 * HOURS, "b": 0.0, "c": 11 * HOURS}
    started = [replicas.start(name, wall=lambda ahead=ahead: 1.8e9 + ahead) for name, ahead in walls.items()]
    leader = await replicas.one_leads(speed=1)
    await leader.election.publish({"writes": '{"hour":3}'})
    for each in started:
        await each.until(lambda election: election.state == {"writes": '{"hour":3}'}, "all see what the leader says")
    written = lease(client, namespace)
    assert written["spec"]["holderIdentity"] == leader.election.leader
    assert written["spec"]["leaseTransitions"] == 1
    assert written["metadata"]["annotations"][f"{PREFIX}writes"] == '{"hour":3}'

    before = replicas.clock()
    await leader.end()
    second = await replicas.one_leads(but=[leader], speed=1)
    assert replicas.clock() - before < TIMES["duration"]
    assert second.election.state == {"writes": '{"hour":3}'}

    second.transport.down = True
    third = await replicas.one_leads(but=[leader, second], speed=1)
    assert not second.election.leading
    assert lease(client, namespace)["spec"]["leaseTransitions"] == 3
    second.transport.down = False
    await second.until(lambda election: election.leader == third.election.leader, "it knows the new leader")


@pytest.mark.parametrize("deed", ["deleted", "given to another", "taken out", "replaced"])
async def test_a_lease_that_people_change_has_no_two_leaders(
    client: Client, namespace: str, replicas: Replicas, deed: str
) -> None:
    leader, other = await replicas.led_by("a", "b")
    leader.transport.down = True  # it can't know yet
    found = lease(client, namespace)
    if deed == "deleted":
        client.delete(LEASES, namespace, "steward")
    elif deed == "replaced":
        client.delete(LEASES, namespace, "steward")
        client.create({**found, "metadata": {"namespace": namespace, "name": "steward"}, "spec": {}})
    else:
        holder = "b" if deed == "given to another" else None
        client.patch(LEASES, namespace, "steward", {"spec": {"holderIdentity": holder}})
    assert leader.election.leading
    assert not other.election.leading
    assert await replicas.one_leads(but=[leader], speed=3) is other
    leader.transport.down = False
    await leader.until(lambda election: election.leader == "b", "it knows the new leader")


async def test_the_fence_finds_out_at_once(client: Client, namespace: str, api_server: ApiServer) -> None:
    annotations = {PREFIX + "lease-process": "p0", PREFIX + "lease-released": "p0"}
    meta = {"namespace": namespace, "name": "steward", "annotations": annotations}
    made = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
    config = api_server.kubeconfig("admin")
    async with electing(config, namespace=namespace, duration=600.0, renew=200.0) as replicas:
        client.create(made)
        (leader,) = await replicas.led_by("a")
        await leader.election.assure(30)
        client.patch(LEASES, namespace, "steward", {"spec": {"renewTime": "2999-01-01T00:00:00.000000Z"}})
        replicas.clock.advance(1.1)
        await leader.election.assure(30)  # a time is nothing
        client.delete(LEASES, namespace, "steward")
        replicas.clock.advance(1.1)
        assert leader.election.leading
        with pytest.raises(NotLeadingError):
            await leader.election.assure(30)
        assert not leader.election.leading
        assert client.find(LEASES, namespace, "steward") is None


async def test_a_write_that_is_bound_to_a_lease_creates_none_and_replaces_no_other(
    client: Client, namespace: str, api_server: ApiServer
) -> None:
    """Kubernetes creates a Lease that is PUT and not there, whatever resourceVersion it has: only the UID keeps it."""
    transport = Transport.from_environment(str(api_server.kubeconfig("admin")))
    api, me = LeaseApi(transport, namespace, "steward"), Contender(namespace, "steward", "a", "p1", 15.0)
    try:
        await api.create(unheld(me), 10)
        read = await api.get(10)
        assert read is not None
        client.delete(LEASES, namespace, "steward")
        with pytest.raises(StatusError) as refused:
            await api.replace(read.held(me, 1.8e9), 10)
        assert refused.value.code == 409
        assert client.find(LEASES, namespace, "steward") is None

        unbound = read.held(me, 1.8e9)
        del unbound["metadata"]["uid"]
        await api.replace(unbound, 10)
        assert client.find(LEASES, namespace, "steward") is not None
        with pytest.raises(StatusError) as refused:
            await api.replace(read.held(me, 1.8e9), 10)
        assert refused.value.code == 409
    finally:
        await transport.close()


async def test_an_api_server_that_is_killed_is_led_again_when_it_is_back(own_api_server: MakeApiServer) -> None:
    server = own_api_server(with_crds=False)
    async with electing(server.kubeconfig("admin"), namespace="default", **TIMES) as replicas:
        leader, other = await replicas.led_by("a", "b")
        await asyncio.to_thread(server.kill)
        await leader.until(lambda election: not election.leading, "it stops by itself")
        with pytest.raises(NotLeadingError, match="no connection"):
            await leader.election.assure(1)
        await other.until(lambda election: election.problem, "it can't know")
        assert replicas.leading() == []
        await asyncio.to_thread(server.start)
        await replicas.one_leads(speed=1)


CHILD = """
import asyncio, os, sys
from exporter.kube.transport import Transport
from reconcile.carry_out.lease import Election, NotLeadingError

async def main(config, namespace, path, name):
    transport = Transport.from_environment(config)
    election = Election(transport, namespace=namespace, name="steward", identity=name, duration=5, renew=0.5, margin=1)
    running = asyncio.create_task(election.run())
    with open(path, "a", buffering=1) as file:
        while True:
            try:
                await election.assure(0.5)
            except NotLeadingError:
                async with election.changed:
                    await election.changed.wait_for(lambda: election.leading)
                continue
            await asyncio.sleep(0.01)  # the write is being prepared
            if election.leading:
                file.write(name + "\\n")

asyncio.run(main(*sys.argv[1:]))
"""


class Writers:
    """Processes that each append their name to a file while they lead."""

    def __init__(self, config: Path, namespace: str, path: Path) -> None:
        self._command = [sys.executable, "-c", CHILD, str(config), namespace, str(path)]
        self.path = path
        self.all: list[subprocess.Popen[bytes]] = []
        path.touch()

    def start(self, name: str) -> subprocess.Popen[bytes]:
        self.all.append(subprocess.Popen([*self._command, name]))
        return self.all[-1]

    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").split()

    def until_written_by(self, name: str, more: int = 5) -> None:
        before = self.lines().count(name)
        wait_until(lambda: self.lines().count(name) >= before + more, 60, f"{name} writes")


@pytest.fixture
def writers(api_server: ApiServer, namespace: str, tmp_path: Path) -> Iterator[Writers]:
    writers = Writers(api_server.kubeconfig("admin"), namespace, tmp_path / "written")
    yield writers
    for each in writers.all:
        each.send_signal(signal.SIGCONT)
        each.kill()
        each.wait()


def test_a_process_that_was_stopped_writes_nothing_after_its_lease_went(writers: Writers) -> None:
    first = writers.start("first")
    writers.until_written_by("first")
    writers.start("second")
    os.kill(first.pid, signal.SIGSTOP)
    writers.until_written_by("second")
    written = writers.lines().count("first")
    os.kill(first.pid, signal.SIGCONT)
    writers.until_written_by("second", more=20)
    assert writers.lines().count("first") == written

    writers.all[1].kill()  # it can't give the lease up
    writers.until_written_by("first")
    lines = writers.lines()
    changes = [name for name, before in zip(lines, ["", *lines[:-1]], strict=True) if name != before]
    assert changes == ["first", "second", "first"]
