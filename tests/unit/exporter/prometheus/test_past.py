"""What Prometheus is asked, and that whatever it does costs a page no more than a moment."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest
from aiohttp import web

from exporter.prometheus import MOST_POINTS, Bounds, Question, decoded
from tests.all_of import each_of
from tests.evaluation import NOW
from tests.past_server import Stub, answer, asking

HOURS = Question("up", 7200, 3600)
PATIENT = Bounds(patience=20.0, answer=20.0)
POINTS = [(NOW - 3600, 1.0), (NOW, 0.0)]


def clock() -> float:
    return NOW


async def known(_: web.Request) -> web.StreamResponse:
    return answer({"found": POINTS})


async def test_a_range_is_asked_for_once_and_kept(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n", encoding="ascii")
    stub = Stub(known)
    async with asking(stub, PATIENT, clock, token_file=str(token)) as past:
        answers = [await past.of(HOURS), *await asyncio.gather(*(past.of(HOURS) for _ in range(5)))]
    assert answers == [{"found": tuple(POINTS)}] * 6
    (asked,) = stub.asked
    assert asked == {"query": "up", "start": f"{NOW - 7200:.3f}", "end": f"{NOW:.3f}", "step": "3600", "timeout": "20s"}
    assert stub.tokens == ["Bearer secret"]


async def test_a_prometheus_that_hangs_is_waited_for_once_and_by_no_more_than_a_moment() -> None:
    stub = Stub(known)
    stub.respond = stub.hang
    async with asking(stub, Bounds(patience=0.2, answer=60.0), clock) as past:
        began = time.monotonic()
        assert await past.of(HOURS) is None
        first = time.monotonic()
        for at in range(40):
            assert await past.of(Question(f"up{at}", 7200, 3600)) is None
        after = time.monotonic()
        assert first - began < 5.0
        assert after - first < 0.2  # forty pages, and none of them has waited
        stub.released.set()
        async with asyncio.timeout(30):
            while await past.of(HOURS) is None:  # noqa: ASYNC110 # what comes later is there for a later page
                await asyncio.sleep(0)
        assert len(stub.asked) < 20  # of forty some were never asked


async def error(_: web.Request) -> web.StreamResponse:
    return web.Response(status=500, text="boom")


async def garbage(_: web.Request) -> web.StreamResponse:
    return web.Response(text='{"status": "success", "data": {"result": [{"metric": 5}]}}')


async def large(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b'{"data": "' + b"x" * 10_000_000 + b'"}')


async def elsewhere(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("http://127.0.0.1:1/")


async def many(_: web.Request) -> web.StreamResponse:
    return answer({"found": [(NOW + at, 1.0) for at in range(MOST_POINTS + 1)]})


@pytest.mark.parametrize("respond", [error, garbage, large, elsewhere, many])
async def test_what_is_no_answer_is_logged_once_and_prometheus_is_let_alone(
    respond: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stub = Stub(respond)  # type: ignore[arg-type]
    async with asking(stub, PATIENT, clock) as past:
        answers = [await past.of(Question(f"up{at}", 7200, 3600)) for at in range(5)]
        assert answers == [None] * 5
        assert len(stub.asked) == 1
    stub = Stub(respond)  # type: ignore[arg-type]
    async with asking(stub, Bounds(patience=20.0, rest=0.0), clock) as past:
        caplog.clear()
        assert [await past.of(Question(f"up{at}", 7200, 3600)) for at in range(3)] == [None] * 3
        assert [record.message.split()[0] for record in caplog.records if record.name.startswith("exporter")] == [
            'event="prometheus'
        ]
        stub.respond = known
        assert await past.of(HOURS) == {"found": tuple(POINTS)}


async def test_what_was_known_is_shown_for_a_while_when_prometheus_fails() -> None:
    stub = Stub(known)
    async with asking(stub, Bounds(patience=20.0, new=0.0), clock) as past:
        assert await past.of(HOURS)
        stub.respond = error
        assert await past.of(HOURS) == {"found": tuple(POINTS)}
    async with asking(stub, Bounds(patience=20.0, new=0.0, shown=0.0), clock) as past:
        stub.respond = known
        assert await past.of(HOURS) is None


@each_of(
    "body",
    [
        b"",
        b"[]",
        b'{"data": {"result": [{"metric": {}, "values": [[1, "NaN"]]}]}}',
        b'{"data": {"result": [{"metric": {}, "values": [[1, "one"]]}]}}',
        b'{"data": {"result": [{"metric": {}, "values": [[null, "1"]]}]}}',
        b"[" * 100_000,
        b'{"data": {"result": [' + b",".join([b'{"metric": {}, "values": []}'] * 11) + b"]}}",
    ],
)
def test_an_answer_is_what_was_asked_for_or_nothing(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"response|float"):
        decoded(body)
