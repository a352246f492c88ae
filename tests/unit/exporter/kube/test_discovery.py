"""The kinds that the steward reads, in what real servers of each supported version answer to discovery."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver import server
from demo.apiserver.calls import ApiCall
from demo.apiserver.errors import page_not_found
from demo.apiserver.server import kubeconfig
from exporter.app import assemble, wait_until_seen
from exporter.kube.client import Client
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind
from exporter.store.source import Source, SyncState
from tests.all_of import each_of
from tests.fakeapi.apiserver import FakeApiServer
from tests.tools.discovery import FOLDER, KINDS

RECORDED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
# What else is asked for by the exporter, by the commands that a person enters, and by the sidecar.
ASKED = [
    ("/apis/authentication.k8s.io/v1", "tokenreviews", "create"),
    ("/apis/authorization.k8s.io/v1", "subjectaccessreviews", "create"),
    ("/apis/coordination.k8s.io/v1", "leases", "update"),
    ("/api/v1", "events", "create"),
    ("/api/v1", "pods/eviction", "create"),
]


def _recorded(documents: dict[str, Any], kind: ApiKind[Any]) -> bool:
    paths = (kind.base(version) for version in kind.versions)
    return any(each["name"] == kind.plural for path in paths for each in documents.get(path, {}).get("resources", ()))


# Without any CRD, each of the servers serves these.
BUILT_IN = {kind.resource for kind in KINDS if any(_recorded(documents, kind) for documents in RECORDED.values())}


class Recorded(FakeApiServer):
    """Answers discovery as a real server did, and lists of what that one serves."""

    def __init__(self, documents: dict[str, Any]) -> None:
        super().__init__()
        self._documents = documents

    def _answer(self, call: ApiCall) -> server.Answer:
        if call.path in self._documents:
            return 200, server.encode(self._documents[call.path])
        if call.path.rpartition("/")[0] not in self._documents:
            raise page_not_found()
        return super()._answer(call)


@pytest.fixture(params=RECORDED)
def documents(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = RECORDED[request.param]
    return found


@pytest.fixture
async def config(documents: dict[str, Any], tmp_path: Path) -> AsyncIterator[str]:
    """The path of a kubeconfig for it."""
    server = Recorded(documents)
    await server.start()
    yield str(kubeconfig(tmp_path, server.url))
    await server.stop()


def test_what_every_cluster_has_is_recorded() -> None:
    assert {"namespaces", "nodes", "pods", "deployments.apps", "poddisruptionbudgets.policy"} <= BUILT_IN
    assert all("." not in each or each.endswith((".apps", ".policy", ".k8s.io")) for each in BUILT_IN)


def test_the_oldest_and_the_newest_supported_version_are_recorded() -> None:
    assert {"1.33", "1.36"} <= RECORDED.keys()
    for version, documents in RECORDED.items():
        assert documents["/version"]["gitVersion"].startswith(f"v{version}.")


async def test_every_built_in_kind_is_seen_and_what_is_missing_is_absent(config: str) -> None:
    steward = assemble(Transport.from_environment(config))
    async with steward.watching():
        assert await wait_until_seen(steward, 30)
        states: dict[SyncState, set[str]] = {}
        for each in steward.engine.cluster.all(Source):
            states.setdefault(each.sync_state, set()).add(each.resource)
    assert states == {SyncState.LIVE: BUILT_IN, SyncState.ABSENT: {kind.resource for kind in KINDS} - BUILT_IN}


async def test_each_is_asked_for_in_the_version_that_is_preferred(config: str) -> None:
    transport = Transport.from_environment(config)
    client = Client(transport)
    served = {kind: await client.served_version(kind) for kind in KINDS if kind.resource in BUILT_IN}
    assert served == {kind: kind.versions[0] for kind in served}
    await transport.close()


def test_each_can_be_listed_and_watched_where_we_look(documents: dict[str, Any]) -> None:
    for kind in KINDS:
        if kind.resource in BUILT_IN:
            (found,) = resources(documents, kind.base(kind.versions[0]), kind.plural)
            assert found["namespaced"] is kind.namespaced
            assert {"list", "watch"} <= set(found["verbs"])


@each_of(("path", "plural", "verb"), ASKED)
def test_what_else_is_asked_for_is_there(documents: dict[str, Any], path: str, plural: str, verb: str) -> None:
    (found,) = resources(documents, path, plural)
    assert verb in found["verbs"]


def resources(documents: dict[str, Any], path: str, plural: str) -> list[dict[str, Any]]:
    return [each for each in documents[path]["resources"] if each["name"] == plural]
