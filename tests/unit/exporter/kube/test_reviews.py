"""What is made of the answers of an API server to reviews, odd ones included."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.kube.errors import KubeError
from exporter.kube.reviews import Path as URLPath
from exporter.kube.reviews import Reviews, User
from exporter.kube.transport import Transport
from tests.secure_server import config

SECRET = "s3cr3t.of.somebody"
METRICS = URLPath("/metrics")


@asynccontextmanager
async def answering(tmp_path: Path, status: int, answer: Any, seconds: float = 5.0) -> AsyncIterator[Reviews]:
    """An API server that answers everything so, and has the token of a TokenReview in its answer, as it has."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        asked = await request.json()
        text = answer if isinstance(answer, str) else json.dumps({**asked, **answer})
        return web.Response(status=status, text=text, content_type="application/json")

    async with handled(tmp_path, handle, seconds=seconds) as reviews:
        yield reviews


@asynccontextmanager
async def handled(
    tmp_path: Path, handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], **how: Any
) -> AsyncIterator[Reviews]:
    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    transport = Transport.from_environment(config(tmp_path / "k", f"http://127.0.0.1:{runner.addresses[0][1]}"))
    try:
        yield Reviews(transport, **how)
    finally:
        await transport.close()
        await runner.cleanup()


def token_status(**fields: Any) -> dict[str, Any]:
    return {"status": fields}


GOOD = {"username": "anna", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}

NOBODY = {
    "not authenticated": token_status(authenticated=False, user=GOOD),
    "null": token_status(authenticated=None, user=GOOD),
    "without a status": {},
    "an empty status": token_status(),
    "without a user": token_status(authenticated=True),
    "a null user": token_status(authenticated=True, user=None),
    "an empty user": token_status(authenticated=True, user={}),
    "an empty name": token_status(authenticated=True, user={**GOOD, "username": ""}),
    "anonymous": token_status(authenticated=True, user={"username": "system:anonymous"}),
    "unauthenticated": token_status(authenticated=True, user={**GOOD, "groups": ["system:unauthenticated"]}),
}


@pytest.mark.parametrize("answer", NOBODY.values(), ids=NOBODY)
async def test_who_is_not_clearly_somebody_is_nobody(answer: dict[str, Any], tmp_path: Path) -> None:
    async with answering(tmp_path, 201, answer) as reviews:
        assert await reviews.user(SECRET) is None


async def test_all_that_is_known_of_a_user_is_kept(tmp_path: Path) -> None:
    async with answering(tmp_path, 201, token_status(authenticated=True, user=GOOD)) as reviews:
        assert await reviews.user(SECRET) == User("anna", "1", ("g",), (("k", ("v",)),))


NO_ANSWER = {
    "no permission": (403, {"kind": "Status", "message": "forbidden"}),
    "an error": (500, "oh"),
    "HTML": (200, "<html>"),
    "another type": (201, token_status(authenticated="true", allowed="true", user=GOOD)),
    "a list": (201, "[]"),
    "nothing": (201, ""),
    "too large": (201, {"status": {"authenticated": True, "allowed": True, "user": {"username": "x" * (1 << 20)}}}),
}


@pytest.mark.parametrize(("status", "answer"), NO_ANSWER.values(), ids=NO_ANSWER)
async def test_what_is_no_answer_is_an_error_and_no_decision(status: int, answer: Any, tmp_path: Path) -> None:
    async with answering(tmp_path, status, answer) as reviews:
        with pytest.raises(KubeError) as raised:
            await reviews.user(SECRET)
        assert SECRET not in str(raised.value)
        with pytest.raises(KubeError):
            await reviews.allowed(User("anna"), METRICS)
        assert reviews.counts == {("token", "error"): 1, ("access", "error"): 1}


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"allowed": True}, True),
        ({"allowed": True, "evaluationError": "some"}, True),
        ({"allowed": True, "denied": True}, False),
        ({"allowed": False, "reason": "allowed"}, False),
        ({}, False),
    ],
)
async def test_only_what_is_allowed_and_not_denied_is_allowed(
    fields: dict[str, Any], allowed: bool, tmp_path: Path
) -> None:
    async with answering(tmp_path, 201, {"status": fields}) as reviews:
        assert await reviews.allowed(User("anna"), METRICS) is allowed


@pytest.mark.parametrize(("status", "answer"), [(201, NOBODY["anonymous"]), *NO_ANSWER.values()])
async def test_no_token_is_logged_at_any_level(
    status: int, answer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with answering(tmp_path, status, answer) as reviews:
        try:
            await reviews.user(SECRET)
        except KubeError as error:
            logging.getLogger("test").error("%s", error)
    assert SECRET not in caplog.text


async def test_whoever_asks_much_holds_up_nobody_else(tmp_path: Path) -> None:
    asked: list[str] = []
    held, first = asyncio.Event(), asyncio.Event()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        asked.append((await request.json())["spec"]["token"])
        first.set()
        await held.wait()
        return web.json_response(token_status(authenticated=False))

    async with handled(tmp_path, handle, at_once=1) as reviews, asyncio.timeout(20):
        tokens = [f"{who}{at}" for who in "ab" for at in range(3)]
        asking = [asyncio.create_task(reviews.user(each, who=each[0])) for each in tokens]
        await first.wait()
        left = asyncio.create_task(reviews.user("c0", who="c"))
        await asyncio.sleep(0)
        left.cancel()
        held.set()
        await asyncio.gather(*asking)
        assert await reviews.user("c1", who="c") is None
    assert asked == ["a0", "a1", "b0", "a2", "b1", "b2", "c1"]
