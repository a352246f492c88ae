"""Who is asked before a request is answered."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web

from exporter.serve.application import Guard, application, serving
from tests.all_of import each_of
from tests.served import served

HEALTH = ("/healthz", "/readyz")


async def _nobody(_: web.Request) -> web.StreamResponse | None:
    return web.Response(status=401, text="nobody\n")


@each_of("path", ["/", "/metrics", "/api/v1/findings", "/style.css", "/nothing", "/healthz/", "//healthz"])
@each_of("method", ["GET", "HEAD", "POST"])
async def test_whom_the_guard_stops_gets_its_answer_at_every_path(path: str, method: str) -> None:
    async with served(guard=_nobody) as server:
        status, headers, body = await server.get(path, method)
    assert (status, body) == (401, b"" if method == "HEAD" else b"nobody\n")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", HEALTH)
async def test_health_is_open(path: str) -> None:
    async with served(guard=_nobody) as server:
        assert (await server.get(path))[0] == 200


async def test_whom_the_guard_lets_pass_is_answered() -> None:
    asked = []

    async def everybody(request: web.Request) -> web.StreamResponse | None:
        asked.append(request.path)
        return None

    async with served(guard=everybody) as server:
        assert (await server.get("/api/v1/findings"))[0] == 200
        assert (await server.get("/nothing"))[0] == 404
        assert (await server.get("/healthz"))[0] == 200
    assert asked == ["/api/v1/findings", "/nothing"]


@pytest.mark.parametrize(("guard", "text"), [(None, "not ready\nit waits\n"), (_nobody, "not ready\n")])
async def test_what_it_waits_for_is_nothing_for_strangers(guard: Guard | None, text: str) -> None:
    app = application({}, lambda: "it waits", guard=guard)
    async with (
        serving(app, "127.0.0.1", 0) as url,
        aiohttp.ClientSession() as http,
        http.get(f"{url}/readyz") as answer,
    ):
        assert (answer.status, await answer.text()) == (503, text)
