"""Alertmanager over HTTP: what it answers counts for a while, and no answer is never a clear one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from reconcile.carry_out.alertmanager import Silences
from reconcile.config.forms import AlertmanagerSettings

from ....repairs import ask, config
from ....silence_rows import silence


class Served:
    """A server of one answer at every path, with the requests that it got."""

    def __init__(self) -> None:
        self.requests: list[web.Request] = []
        self.reply: Any = lambda: web.Response(status=404)
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        got = self.reply()
        response: web.StreamResponse = await got if asyncio.iscoroutine(got) else got
        return response


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    got, app = Served(), web.Application()
    app.router.add_get("/{path:.*}", got.answer)
    async with TestServer(app) as server:
        got.url = str(server.make_url("")).rstrip("/")
        yield got


def of_alertmanager(served: Served, **values: Any) -> AlertmanagerSettings:
    return config(alertmanager={"url": served.url, **values}).alertmanager


def as_json(value: Any, status: int = 200) -> Callable[[], web.Response]:
    return lambda: web.json_response(value, status=status)


async def never() -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


# What is no answer: a status, something else than JSON or of another shape, too much, an end, or none in time.
NO_ANSWER = [
    as_json([], 500),
    as_json([], 401),
    lambda: web.Response(status=302, headers={"Location": "/other"}),
    lambda: web.Response(text="<html>"),
    lambda: web.Response(body=b"\xff\xfe"),
    lambda: web.Response(body=b'[{"id": "\xff"}]'),
    lambda: web.Response(body=b'{"status": "\xff"}'),
    lambda: web.Response(text="[" * 100_000),
    as_json({"status": "success"}),
    as_json([{"id": "x"}]),
    as_json(None),
    lambda: web.Response(body=bytes(33 * 2**20)),
    never,
]


@pytest.mark.parametrize("reply", NO_ANSWER)
async def test_without_an_answer_nobody_knows_of_silences(served: Served, reply: Any) -> None:
    served.reply = reply
    by = await Silences(of_alertmanager(served), Clock(), 30, seconds=0.5).silenced()
    assert by(ask()) is None


async def test_a_server_that_is_not_there() -> None:
    by = await Silences(config(alertmanager={"url": "http://127.0.0.1:1"}).alertmanager, Clock(), 30).silenced()
    assert by(ask()) is None


async def test_silences_are_asked_once_in_a_while_and_evaluated_for_each_finding(served: Served) -> None:
    served.reply, clock = as_json([silence(("namespace", "=", "shop"))]), Clock()
    silences = Silences(of_alertmanager(served), clock, 30)
    by = await silences.silenced()
    assert '"8f1c" by "ann"' in (by(ask()) or "")
    assert by(ask(labels={"namespace": ("bank",)})) == ""
    served.reply, clock.now = as_json([]), 129.9
    assert (await silences.silenced())(ask())
    clock.now = 130.0
    assert (await silences.silenced())(ask()) == ""
    assert [each.path for each in served.requests] == ["/api/v2/silences"] * 2


async def test_what_was_known_does_not_outlive_its_time(served: Served) -> None:
    served.reply, clock = as_json([]), Clock()
    silences = Silences(of_alertmanager(served), clock, 30)
    assert (await silences.silenced())(ask()) == ""
    served.reply, clock.now = as_json([], 503), 131.0
    assert (await silences.silenced())(ask()) is None


async def test_labels_that_prometheus_adds_are_those_of_the_configuration(served: Served) -> None:
    served.reply = as_json([silence(("cluster", "=", "test"))])
    unknown = await Silences(of_alertmanager(served), Clock(), 30).silenced()
    known = await Silences(of_alertmanager(served, labels={"cluster": "prod"}), Clock(), 30).silenced()
    assert unknown(ask())
    assert known(ask()) == ""
    here = await Silences(of_alertmanager(served, labels={"cluster": "test"}), Clock(), 30).silenced()
    assert here(ask())


async def test_an_added_label_does_not_overwrite_what_an_alert_has(served: Served) -> None:
    served.reply = as_json([silence(("namespace", "=", "shop"))])
    by = await Silences(of_alertmanager(served, labels={"namespace": "x"}), Clock(), 30).silenced()
    assert by(ask())


async def test_without_a_url_nobody_is_asked() -> None:
    by = await Silences(config().alertmanager, Clock(), 30).silenced()
    assert by(ask()) == ""


async def test_the_token_is_read_anew_and_is_not_sent_elsewhere(served: Served, tmp_path: Path) -> None:
    token, clock = tmp_path / "token", Clock()
    silences = Silences(of_alertmanager(served, tokenFile=str(token)), clock, 0)
    served.reply = lambda: web.Response(status=307, headers={"Location": f"{served.url}/other"})
    for text in ("one\n", "two"):
        token.write_text(text)
        await silences.silenced()
    assert [each.headers["Authorization"] for each in served.requests] == ["Bearer one", "Bearer two"]
    token.unlink()
    assert (await silences.silenced())(ask()) is None
    assert len(served.requests) == 2
