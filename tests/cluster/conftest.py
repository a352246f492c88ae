"""Fixtures of tests against real servers. Without the binaries they fail, with what to install; they never skip."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.custom_resources import crds, install
from tests.cluster.prometheus import Prometheus, Setup
from tests.tools.build import ToolMissing, tool

HERE = Path(__file__).parent

Tools = Callable[[str], Path]
MakeApiServer = Callable[..., ApiServer]
MakePrometheus = Callable[..., Prometheus]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def binary(request: pytest.FixtureRequest) -> Tools:
    """`binary("etcd")`: its path, built if need be. Fails the test if it cannot be had."""
    capture: Any = request.config.pluginmanager.getplugin("capturemanager")

    def get(name: str) -> Path:
        shown = capture.global_and_fixture_disabled() if capture else contextlib.nullcontext()
        try:
            with shown:  # a build takes minutes: who waits must see why
                return tool(name)
        except ToolMissing as err:
            pytest.fail(str(err), pytrace=False)

    return get


@contextlib.contextmanager
def _api_servers(binary: Tools) -> Iterator[MakeApiServer]:
    with contextlib.ExitStack() as ends:

        def make(*, with_crds: bool = True) -> ApiServer:
            server = ApiServer(binary("etcd"), binary("kube-apiserver"))
            ends.callback(server.stop)
            server.start()
            if with_crds:
                install(server.client(), crds())
            return server

        yield make


@pytest.fixture(scope="session")
def api_server(binary: Tools) -> Iterator[ApiServer]:
    """One for all tests, with the CRDs. Do not kill it, nor take a CRD away: `own_api_server` is for that."""
    with _api_servers(binary) as make:
        yield make()


@pytest.fixture
def own_api_server(binary: Tools) -> Iterator[MakeApiServer]:
    """`own_api_server(with_crds=True)`: starts one that is this test's alone."""
    with _api_servers(binary) as make:
        yield make


@pytest.fixture(scope="module")
def module_api_server(binary: Tools) -> Iterator[MakeApiServer]:
    """As own_api_server, for one that the tests of a module share."""
    with _api_servers(binary) as make:
        yield make


@pytest.fixture(scope="session")
def client(api_server: ApiServer) -> Client:
    """The admin's, of the shared API server."""
    return api_server.client()


@pytest.fixture
def namespace(client: Client) -> str:
    """The name of a new namespace of the shared API server. It stays: nothing there deletes namespaces."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def prometheus(binary: Tools) -> Iterator[MakePrometheus]:
    """`prometheus(targets=["127.0.0.1:8080"])`: starts one; takes the fields of Setup, and `port` if that matters."""
    with contextlib.ExitStack() as ends:

        def make(*, port: int | None = None, **setup: Any) -> Prometheus:
            server = Prometheus(binary("prometheus"), Setup(**setup), port=port)
            ends.callback(server.stop)
            server.start()
            return server

        yield make
