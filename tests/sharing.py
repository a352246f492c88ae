"""A steward that has seen all of a fleet: for one test, or for many that only ask it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from demo.apiserver.server import kubeconfig
from exporter.app import assemble, serve, wait_until_seen
from exporter.kube.transport import Transport
from tests.fakeapi.apiserver import FakeApiServer

__all__ = ["Fleet", "Shared", "cluster_of", "served", "shared_by_many"]

Fleet: TypeAlias = Callable[[], Iterable[dict[str, Any]]]


@dataclass(frozen=True)
class Shared:
    """Where a steward serves, and the kubeconfig of its cluster."""

    url: str
    kubeconfig: Path


@asynccontextmanager
async def cluster_of(fleet: Fleet) -> AsyncIterator[FakeApiServer]:
    server = FakeApiServer()
    server.load(fleet())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def served(cluster: FakeApiServer, folder: Path) -> AsyncIterator[Shared]:
    path = kubeconfig(folder, cluster.url)
    steward = assemble(Transport.from_environment(str(path)), settle=0.01)
    async with serve(steward, "127.0.0.1", 0) as url:
        assert await wait_until_seen(steward, 30)
        yield Shared(url, path)


@contextmanager
def shared_by_many(fleet: Fleet, folder: Path) -> Iterator[Shared]:
    """On a loop in a thread, which outlives the loops of the tests."""
    made, over = Future[Shared](), asyncio.Event()

    async def serving() -> None:
        try:
            async with cluster_of(fleet) as cluster, served(cluster, folder) as shared:
                made.set_result(shared)
                await over.wait()
        except Exception as error:
            if not made.done():
                made.set_exception(error)
            raise

    with asyncio.Runner() as runner, ThreadPoolExecutor(1) as thread:
        loop = runner.get_loop()
        running = thread.submit(runner.run, serving())
        yield made.result()
        loop.call_soon_threadsafe(over.set)
        running.result()
