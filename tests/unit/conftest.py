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

from demo.fleet.sample import sample_fleet
from tests import amounts
from tests.fakeapi.apiserver import FakeApiServer
from tests.sharing import Fleet, Shared, cluster_of, served, shared_by_many

from ..tls_clients import Tls

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


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """How the objects of `cluster` are made: the sample fleet, unless a module has another one."""
    return lambda: sample_fleet(datetime.now(UTC)).objects


@pytest.fixture
async def cluster(fleet: Fleet) -> AsyncIterator[FakeApiServer]:
    """The fleet, served."""
    async with cluster_of(fleet) as server:
        yield server


@pytest.fixture(scope="module")
def shared(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """A steward that has seen all of the fleet, for those tests of a module that only ask."""
    with shared_by_many(fleet, tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
async def http(shared: Shared) -> AsyncIterator[aiohttp.ClientSession]:
    """Asks the steward that the tests of the module share."""
    async with aiohttp.ClientSession(base_url=shared.url) as session:
        yield session


@pytest.fixture
async def own_http(cluster: FakeApiServer, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Asks a steward that has seen all of `cluster`, and that nobody else asks: for tests that change something."""
    async with served(cluster, tmp_path) as own, aiohttp.ClientSession(base_url=own.url) as session:
        yield session
