"""Fixtures of more than one module."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

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


@pytest.fixture
async def cluster() -> AsyncIterator[FakeApiServer]:
    """The sample fleet, served."""
    server = FakeApiServer()
    server.load(sample_fleet(datetime.now(UTC)).objects)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def http(cluster: FakeApiServer, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Asks a steward that has seen all of `cluster`."""
    steward = assemble(Transport.from_environment(str(kubeconfig(tmp_path, cluster.url))), settle=0.01)
    async with serve(steward, "127.0.0.1", 0) as url:
        assert await wait_until_seen(steward, 30)
        async with aiohttp.ClientSession(base_url=url) as session:
            yield session
