"""Whoever announces the body of a request and does not send it keeps nobody out, at any path that reads one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from exporter.kube.reviews import User
from exporter.serve import application as serving_module
from exporter.serve.access import access
from exporter.serve.access.browsers import LOGIN, Sessions
from exporter.serve.access.login import Login
from exporter.serve.application import Guard, Routes, application, serving
from exporter.serve.server.rooms import SharedPlaces, take

from .....access_stage import login_stage

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ROOT = Path(__file__).parents[5]
MOST, MANY = 8, 40
ALWAYS = ("/healthz", "/readyz", "/metrics")


async def no_user(token: str, address: str) -> User | None:
    raise AssertionError("no token is sent")


def readers() -> dict[str, Handler]:
    """Of each module that reads bodies the handler, by its path."""
    return {LOGIN: Login(no_user, Sessions(60.0)).posts[LOGIN]}


def test_bodies_are_read_in_one_way_by_these_alone() -> None:
    files = [*(ROOT / "exporter").rglob("*.py"), *(ROOT / "reconcile").rglob("*.py")]
    sources = {each.relative_to(ROOT).as_posix(): each.read_text(encoding="utf-8") for each in files}
    reading = re.compile(r"request\.(read|text|json|post|multipart)\(|request\.content\.(iter|read)")
    assert {path for path, text in sources.items() if reading.search(text)} == {"exporter/serve/server/connections.py"}
    using = {path for path, text in sources.items() if re.search(r"server\.connections import .*\bbody_of\b", text)}
    assert using == {f"{each.__module__.replace('.', '/')}.py" for each in readers().values()}


@asynccontextmanager
async def posting(monkeypatch: pytest.MonkeyPatch, posts: Routes, guard: Guard | None = None) -> AsyncIterator[str]:
    async def say(_: web.Request) -> web.StreamResponse:
        return web.Response(text="here")

    routes: Routes = {"/metrics": say, "/": say}
    monkeypatch.setattr(serving_module, "most_connections", lambda: MOST)
    async with serving(application(routes, lambda: "", None, guard, posts), "127.0.0.1", 0) as url:
        yield url


HEAD = "Content-Type: application/x-www-form-urlencoded\r\nAuthorization: Bearer t\r\nContent-Length: 100\r\n"


async def announced(url: str, path: str) -> asyncio.StreamWriter:
    """A connection that has sent the head of a request, and no byte of its body."""
    host, _, port = url.removeprefix("http://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{HEAD}\r\n".encode())
    await writer.drain()
    return writer


async def status(url: str) -> int:
    try:
        async with aiohttp.ClientSession() as http, http.get(url) as answer:
            return answer.status
    except aiohttp.ClientError:
        return 0


async def test_bodies_that_do_not_come_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    missed = []
    posts = readers()
    async with posting(monkeypatch, posts) as url, asyncio.timeout(60):
        for path in posts:
            writers = []
            for at in range(MANY):
                writers.append(await announced(url, path))
                asked = (*ALWAYS, "/") if at % MOST == MOST - 1 else ()
                missed += [(path, at, each) for each in asked if await status(f"{url}{each}") != 200]
            for each in writers:
                each.close()
    assert missed == []


async def test_a_body_on_its_way_takes_no_place_of_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = SharedPlaces(1)

    async def one_each(request: web.Request) -> web.StreamResponse | None:
        return None if take(request, rooms, "owner") else web.Response(status=429)

    async with posting(monkeypatch, {LOGIN: readers()[LOGIN]}, one_each) as url, asyncio.timeout(20):
        writer = await announced(url, LOGIN)
        assert await status(url) == 200
        writer.write(b"x" * 100)
        writer.close()


async def test_unasked_paths_have_places_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "most_connections", lambda: 32)  # of which one address has four
    async with login_stage() as stage, asyncio.timeout(20):
        stage.reviews.add("good")
        stage.reviews.open.clear()
        waiting = []
        for at in range(4):
            stage.reviews.began.clear()
            waiting.append(asyncio.create_task(stage.log_in(f"wrong{at}")))
            await stage.reviews.began.wait()
        assert (await stage.log_in("wrong4")).status == 429
        connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
        async with aiohttp.ClientSession(connector=connector) as http, http.get(f"{stage.url}{LOGIN}") as answer:
            assert answer.status == 200
        stage.reviews.open.set()
        assert {each.status for each in await asyncio.gather(*waiting)} == {401}
        assert (await stage.log_in("good")).status == 303
