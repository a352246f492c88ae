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
from tests.cluster.prometheus import Prometheus, Setup
from tests.cluster.servers import Servers
from tests.tools.build import ToolMissing, tool

HERE = Path(__file__).parent
# Begun first, the longest first: with `--dist loadfile` a file is one worker's, and none is to be left for the end.
SLOWEST = (
    *("test_runbooks", "test_deploy_removal", "test_revision_refusals", "test_repair_crashes", "test_several_repairs"),
    *("test_board_states", "test_reconcile_policy", "test_accessibility", "test_rules", "test_rule_lint"),
    *("test_rules_causes", "test_rules_findings", "test_access", "test_permissions", "test_not_applicable"),
    *("test_loss", "test_boards", "test_lease", "test_deploy", "test_copy_repairs", "test_page"),
)

Tools = Callable[[str], Path]
MakeApiServer = Callable[..., ApiServer]
MakePrometheus = Callable[..., Prometheus]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
    items.sort(key=lambda item: SLOWEST.index(item.path.stem) if item.path.stem in SLOWEST else len(SLOWEST))


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


@pytest.fixture(scope="session")
def api_servers(binary: Tools) -> Iterator[Servers]:
    """Those with the CRDs, which modules and tests have one after the other."""
    servers = Servers(lambda: ApiServer(binary("etcd"), binary("kube-apiserver")))
    yield servers
    servers.stop()


@contextlib.contextmanager
def _made(binary: Tools, servers: Servers) -> Iterator[MakeApiServer]:
    with contextlib.ExitStack() as ends:

        def make(*, with_crds: bool = True) -> ApiServer:
            if with_crds:
                return ends.enter_context(servers.lent())
            server = ApiServer(binary("etcd"), binary("kube-apiserver"))
            ends.callback(server.stop)
            server.start()
            return server

        yield make


@pytest.fixture(scope="module")
def api_server(api_servers: Servers) -> Iterator[ApiServer]:
    """One for the tests of a module, with the CRDs, and empty before its first test."""
    with api_servers.lent() as server:
        yield server


@pytest.fixture
def own_api_server(binary: Tools, api_servers: Servers) -> Iterator[MakeApiServer]:
    """`own_api_server(with_crds=True)`: one that is this test's alone, and empty, to do anything to."""
    with _made(binary, api_servers) as make:
        yield make


@pytest.fixture(scope="module")
def module_api_server(binary: Tools, api_servers: Servers) -> Iterator[MakeApiServer]:
    """As own_api_server, for one that the tests of a module share."""
    with _made(binary, api_servers) as make:
        yield make


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> Client:
    """The admin's, of the module's API server."""
    return api_server.client()


@pytest.fixture
def namespace(client: Client) -> str:
    """The name of a new namespace of the module's API server. It stays: nothing there deletes namespaces."""
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
