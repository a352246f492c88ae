"""A steward that watches an API server, and the next one, which has nothing but the objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from demo.apiserver.server import kubeconfig
from exporter.app import assemble, serve, wait_until_seen
from exporter.kube.transport import Transport
from tests.failed_migrations import CPU, STUCK, failed, vmi
from tests.fakeapi.apiserver import FakeApiServer

PLURAL = "virtualmachineinstancemigrations"


class Asked:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def kept(self) -> list[tuple[str, str]]:
        async with self._session.get("/api/v1/migrations?namespace=ns&name=db") as answer:
            vmis: list[Any] = (await answer.json())["vmis"]
        return [(each["migration"], each["failure"]) for vmi in vmis for each in vmi["failures"]]

    async def until_kept(self, *names: str) -> None:
        async with asyncio.timeout(10):
            while [name for name, _ in await self.kept()] != list(names):
                pass

    async def counted(self) -> list[str]:
        """The lines of classes that are not at 0; every class has one."""
        async with self._session.get("/metrics") as answer:
            lines = [
                line for line in (await answer.text()).splitlines() if line.startswith("kubevirt_steward_migration")
            ]
        assert len(lines) == 9
        return [line.partition("{")[2] for line in lines if not line.endswith(" 0.0")]


@asynccontextmanager
async def started(server: FakeApiServer, folder: Path) -> AsyncIterator[Asked]:
    steward = assemble(Transport.from_environment(str(kubeconfig(folder, server.url))), settle=0.01)
    async with serve(steward, "127.0.0.1", 0) as url, aiohttp.ClientSession(base_url=url) as session:
        assert await wait_until_seen(steward, 30)
        yield Asked(session)


async def test_what_failed_before_a_start_is_shown_and_what_fails_after_it_counts(
    cluster: FakeApiServer, tmp_path: Path
) -> None:
    cluster.load([vmi(), failed("m1", 1, CPU), failed("m2", 2, CPU)])
    async with started(cluster, tmp_path) as first:
        assert await first.kept() == [("m2", "CPU"), ("m1", "CPU")]
        assert await first.counted() == []
        cluster.create(failed("m3", 3, STUCK))
        cluster.delete(PLURAL, "ns", "m1")
        cluster.drop_connections()  # and the watches connect again
        cluster.create(failed("m4", 4, STUCK))
        cluster.delete(PLURAL, "ns", "m2")
        await first.until_kept("m4", "m3", "m2", "m1")
        assert await first.counted() == ['failure="Timeout"} 2.0']
    async with started(cluster, tmp_path) as second:
        assert await second.kept() == [("m4", "Timeout"), ("m3", "Timeout")]
        assert await second.counted() == []
        cluster.delete("virtualmachineinstances", "ns", "db")
        await second.until_kept()
