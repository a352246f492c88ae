"""Alertmanager's webhook: who may send, what is taken, and that an alert counts only while it fires."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from reconcile.carry_out.alert_webhook import Firing, receiver
from reconcile.config.forms import WebhookSettings

from ....all_of import each_of
from ....repairs import config

BLUE = {"alertname": "VMIPAMClaimLeftBehind", "namespace": "shop", "name": "db.blue"}
RED = {**BLUE, "name": "db.red"}
TOKEN = "s3cret-ü"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def notification(*alerts: Mapping[str, str], status: str = "firing", **more: Any) -> bytes:
    """As Alertmanager 0.27 sends it."""
    found = [
        {
            "status": status,
            "labels": labels,
            "annotations": {"summary": "x"},
            "startsAt": "2026-05-28T20:00:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://p/graph",
            "fingerprint": "ab",
        }
        for labels in alerts
    ]
    whole = {"version": "4", "groupKey": "{}", "truncatedAlerts": 0, "status": status, "receiver": "steward"}
    return json.dumps({**whole, "alerts": found, **more}).encode()


def alerts(*labels: Mapping[str, str]) -> set[frozenset[tuple[str, str]]]:
    return {frozenset(each.items()) for each in labels}


def test_an_alert_counts_until_it_is_resolved() -> None:
    firing = Firing(3600, Clock())
    assert firing.take(notification(BLUE, RED)) == 2
    assert firing.now() == alerts(BLUE, RED)
    assert firing.take(notification(RED, status="resolved")) == 0
    assert firing.now() == alerts(BLUE)
    firing.take(notification({**BLUE, "severity": "critical"}, status="resolved"))  # another one
    assert firing.now() == alerts(BLUE)


def test_an_alert_that_is_not_repeated_in_time_no_longer_counts() -> None:
    clock = Clock()
    firing = Firing(3600, clock)
    firing.take(notification(BLUE, RED))
    clock.now += 1800
    firing.take(notification(BLUE))
    clock.now += 1799.9
    assert firing.now() == alerts(BLUE, RED)
    clock.now += 0.1
    assert firing.now() == alerts(BLUE)
    clock.now += 1800
    assert firing.now() == frozenset()


def test_of_too_many_the_latest_are_kept() -> None:
    firing = Firing(3600, Clock(), most=3)
    firing.take(notification(*({**BLUE, "name": str(each)} for each in range(5))))
    firing.take(notification({**BLUE, "name": "2"}))
    firing.take(notification({**BLUE, "name": "9"}))
    assert firing.now() == alerts(*({**BLUE, "name": name} for name in ("2", "4", "9")))


NO_NOTIFICATION = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b"\xff",
    b'{"version":"4"}',
    b'{"version":4,"alerts":[]}',
    b'{"version":"4","alerts":[{"status":"firing","labels":{"a":1}}]}',
    b'{"version":"4","alerts":[{"status":"firing","labels":null}]}',
    b'{"version":"4","x":' + b"[" * 100_000,
    notification(BLUE, version="5"),
]


@each_of("content", NO_NOTIFICATION)
def test_what_is_no_notification_changes_nothing(content: bytes) -> None:
    firing = Firing(3600, Clock())
    firing.take(notification(BLUE))
    with pytest.raises(ValueError, match=r"no notification of Alertmanager's webhook|version"):
        firing.take(content)
    assert firing.now() == alerts(BLUE)


class Receiving:
    def __init__(self, client: TestClient[web.Request, web.Application], firing: Firing, token: Path) -> None:
        self.client, self.firing, self.token, self.received = client, firing, token, 0

    async def post(self, content: Any, headers: Mapping[str, str] | list[tuple[str, str]] = HEADERS) -> tuple[int, str]:
        data = BytesIO(content) if isinstance(content, bytes) else content
        async with self.client.post("/api/v1/alerts", data=data, headers=headers) as response:
            return response.status, await response.text()


@pytest.fixture
async def receiving(tmp_path: Path) -> AsyncIterator[Receiving]:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n", encoding="utf-8")
    settings: WebhookSettings = config(webhook={"enabled": True, "tokenFile": str(token)}).webhook
    firing, app = Firing(3600, Clock()), web.Application()

    def received() -> None:
        got.received += 1

    app.router.add_post("/api/v1/alerts", receiver(settings, firing, received))
    async with TestClient(TestServer(app)) as client:
        got = Receiving(client, firing, token)
        yield got


async def test_a_notification_is_taken(receiving: Receiving) -> None:
    assert await receiving.post(notification(BLUE)) == (200, '{"firing": 1}')
    assert receiving.firing.now() == alerts(BLUE)
    assert receiving.received == 1


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", "Bearer s3cret")],
        [("Authorization", f"Basic {TOKEN}")],
        [("Authorization", TOKEN)],
        [("Authorization", f"Bearer {TOKEN}x")],
        [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")],
    ],
)
async def test_without_the_token_nothing_is_taken(receiving: Receiving, headers: list[tuple[str, str]]) -> None:
    status, text = await receiving.post(notification(BLUE), headers)
    assert status == 401
    assert "the bearer token is missing or wrong" in text
    assert TOKEN not in text
    assert (receiving.firing.now(), receiving.received) == (frozenset(), 0)


async def test_a_replaced_token_counts_at_once(receiving: Receiving) -> None:
    receiving.token.write_text("another")
    assert (await receiving.post(notification(BLUE)))[0] == 401
    assert (await receiving.post(notification(BLUE), {"Authorization": "bearer another"}))[0] == 200


@pytest.mark.parametrize("content", ["", "\n"])
async def test_an_empty_token_lets_nobody_in(receiving: Receiving, content: str) -> None:
    receiving.token.write_text(content)
    for headers in ({"Authorization": "Bearer "}, {"Authorization": "Bearer"}, {}):
        assert (await receiving.post(notification(BLUE), headers))[0] == 401


async def test_without_the_token_file_nobody_gets_in(receiving: Receiving, caplog: pytest.LogCaptureFixture) -> None:
    receiving.token.unlink()
    assert (await receiving.post(notification(BLUE)))[0] == 503
    assert "No such file" in caplog.text


async def test_a_notification_that_is_too_large_is_refused(receiving: Receiving) -> None:
    status, text = await receiving.post(notification(BLUE, padding="x" * (4 * 2**20)))
    assert (status, "at most 4 MiB" in text) == (413, True)
    assert receiving.firing.now() == frozenset()


async def test_one_that_is_large_is_taken(receiving: Receiving) -> None:
    assert (await receiving.post(notification(BLUE, padding="x" * (3 * 2**20))))[0] == 200


async def test_what_is_no_notification_is_refused_with_why(receiving: Receiving) -> None:
    status, text = await receiving.post(b"{}")
    assert (status, "no notification of Alertmanager" in text) == (400, True)
    assert receiving.received == 0


async def test_a_body_that_does_not_end_holds_up_nobody(receiving: Receiving) -> None:
    more = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield notification(BLUE)[:20]
        await more.wait()

    slow = asyncio.ensure_future(receiving.post(slowly()))
    assert (await receiving.post(notification(RED)))[0] == 200
    slow.cancel()
    more.set()
    assert receiving.firing.now() == alerts(RED)
