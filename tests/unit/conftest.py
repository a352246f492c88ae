"""Fixtures of more than one module."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import pytest
import trustme

from demo.command import kubeconfig
from demo.fleet.sample import sample_fleet
from exporter.app import assemble, serve, wait_until_seen
from exporter.kube.transport import Transport
from tests import amounts
from tests.fakeapi.apiserver import FakeApiServer
from tests.tls_files import Tls

__all__ = ["Tls"]

Fleet: TypeAlias = Callable[[], Iterable[dict[str, Any]]]
_LEVEL = logging.root.level
amounts.set_profile()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    amounts.mark(items)


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    folder: Path = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    client = authority.issue_cert("steward@example.org", common_name="steward")
    paths = [folder / name for name in ("ca.pem", "client.pem", "client.key")]
    authority.cert_pem.write_to_path(str(paths[0]))
    client.cert_chain_pems[0].write_to_path(str(paths[1]))
    client.private_key_pem.write_to_path(str(paths[2]))
    tls = Tls(authority, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), *map(str, paths))
    tls.server = tls.serves("127.0.0.1")
    return tls


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """As it was, whatever a test or what is made for a whole module has set up."""
    logging.root.setLevel(_LEVEL)
    handlers = list(logging.root.handlers)
    yield
    logging.root.setLevel(_LEVEL)
    logging.root.handlers[:] = handlers


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """How the objects of `cluster` are made: the sample fleet, unless a module has another one."""
    return lambda: sample_fleet(datetime.now(UTC)).objects


@pytest.fixture
async def cluster(fleet: Fleet) -> AsyncIterator[FakeApiServer]:
    """The fleet, served."""
    async with cluster_of(fleet) as server:
        yield server


@asynccontextmanager
async def served(cluster: FakeApiServer, folder: Path) -> AsyncIterator[str]:
    """Where a steward serves that has seen all of the cluster."""
    steward = assemble(Transport.from_environment(str(kubeconfig(folder, cluster.url))), settle=0.01)
    async with serve(steward, "127.0.0.1", 0) as url:
        assert await wait_until_seen(steward, 30)
        yield url


@asynccontextmanager
async def cluster_of(fleet: Fleet) -> AsyncIterator[FakeApiServer]:
    server = FakeApiServer()
    server.load(fleet())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture(scope="module")
def _shared(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a steward of the fleet serves all tests of a module: on a loop that outlives those of the tests."""
    url, over = Future[str](), asyncio.Event()

    async def serving() -> None:
        try:
            async with cluster_of(fleet) as cluster, served(cluster, tmp_path_factory.mktemp("shared")) as at:
                url.set_result(at)
                await over.wait()
        except Exception as error:
            if not url.done():
                url.set_exception(error)
            raise

    with asyncio.Runner() as runner, ThreadPoolExecutor(1) as thread:
        loop = runner.get_loop()
        running = thread.submit(runner.run, serving())
        yield url.result()
        loop.call_soon_threadsafe(over.set)
        running.result()


@pytest.fixture
async def http(_shared: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Asks a steward that has seen all of the fleet, and that the other tests of the module ask, too."""
    async with aiohttp.ClientSession(base_url=_shared) as session:
        yield session


@pytest.fixture
async def own_http(cluster: FakeApiServer, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Asks a steward that has seen all of `cluster`, and that nobody else asks: for tests that change something."""
    async with served(cluster, tmp_path) as url, aiohttp.ClientSession(base_url=url) as session:
        yield session
