"""The exporter takes no request that changes anything: all that is sent to it is what logs in and out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from demo.apiserver.server import kubeconfig
from exporter.app import assemble, serve, wait_until_seen
from exporter.kube.transport import Transport
from exporter.serve.access.access import FINDINGS, METRICS
from exporter.serve.access.browsers import LOGIN, LOGOUT
from exporter.serve.application import build

from ....access_stage import Scripted
from ....fakeapi.apiserver import FakeApiServer

LOOKS = ("GET", "HEAD")
CHANGES = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Reviewed(Scripted):
    """Whoever has the token sees everything."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = Counter[tuple[str, str]]()
        self.add("good", FINDINGS, METRICS)


@asynccontextmanager
async def running(
    cluster: FakeApiServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[web.Application, aiohttp.ClientSession]]:
    """The exporter as it is put together for a cluster, and a client with a token of somebody who sees everything."""
    made: list[web.Application] = []

    def kept(*given: Any) -> web.Application:
        made.append(build(*given))
        return made[0]

    monkeypatch.setattr("exporter.app.build", kept)
    steward = assemble(Transport.from_environment(str(kubeconfig(folder, cluster.url))))
    reviews: Any = Reviewed()
    headers = {"Authorization": "Bearer good"}
    async with (
        serve(steward, "127.0.0.1", 0, reviews=reviews) as url,
        aiohttp.ClientSession(base_url=url, headers=headers) as http,
    ):
        assert await wait_until_seen(steward, 30)
        yield made[0], http


async def test_nothing_is_taken_but_what_logs_in_and_out(
    cluster: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sent to any path is answered with 405; of what is looked at, nothing is written to the cluster either."""
    async with running(cluster, tmp_path, monkeypatch) as (app, http):
        routes = [(each.method, each.resource.canonical) for each in app.router.routes() if each.resource is not None]
        assert len(routes) == len(app.router.routes())
        assert {each for each in routes if each[0] not in LOOKS} == {("POST", LOGIN), ("POST", LOGOUT)}
        paths = {path for method, path in routes if method == "GET"}
        assert {"/", "/findings/{fingerprint}", "/api/v1/findings", "/metrics", LOGIN} <= paths
        taken = []
        for path in paths | {LOGOUT}:
            asked = re.sub(r"{\w+}", "x", path)
            for method in CHANGES:
                async with http.request(method, asked, data={"because": "x"}) as answer:
                    taken += [(method, path)] if answer.status != 405 else []
            if path != LOGOUT:
                async with http.get(asked) as answer:
                    assert answer.status in (200, 400, 404), path
        assert sorted(taken) == [("POST", LOGIN), ("POST", LOGOUT)]
    assert {each.method for each in cluster.requests} == {"GET"}
