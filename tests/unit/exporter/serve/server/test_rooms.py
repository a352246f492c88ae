"""Whoever opens many connections waits alone: scrapes, newcomers and other tenants are answered meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from exporter.kube.reviews import Attributes, Resource, User
from exporter.serve.access.access import FINDINGS, METRICS
from exporter.serve.server.rooms import SharedPlaces, take

from .....access_stage import Stage, in_namespace, staged
from .....served import Served, served


def slow_about_namespaces(stage: Stage) -> asyncio.Event:
    """Until the event is set no question about a namespace of `user-of-many` is answered."""
    answered, at_once = asyncio.Event(), stage.reviews.allowed

    async def allowed(user: User, attributes: Attributes, queue: str = "") -> bool:
        if user.name == "user-of-many" and isinstance(attributes, Resource) and attributes.namespace:
            stage.reviews.asked.append(("access", attributes))
            await answered.wait()
            return False
        return await at_once(user, attributes, queue)

    stage.reviews.allowed = allowed  # type: ignore[method-assign]
    return answered


async def test_one_token_with_sixty_connections_locks_nobody_out() -> None:
    async with staged() as stage, asyncio.timeout(60):
        answered = slow_about_namespaces(stage)
        stage.reviews.add("many")
        stage.reviews.add("scraper", METRICS)
        stage.reviews.add("viewer", FINDINGS)
        stage.reviews.add("tenant", in_namespace("b"))
        asking = [asyncio.create_task(stage.get(f"/?namespace=n{at}", token="many")) for at in range(60)]
        waiting, done = set(asking), set[asyncio.Task[tuple[int, str, Any]]]()
        while len(waiting) > 32:
            ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= ended
        refused = [each.result() for each in done]
        assert {(status, headers["Retry-After"]) for status, _, headers in refused} == {(429, "5")}
        assert await stage.status("/metrics", "scraper") == 200
        assert await stage.status("/", "viewer") == 200
        assert (await stage.get("/?namespace=b", token="tenant"))[1] == "['b']"
        answered.set()
        assert {status for status, _, _ in await asyncio.gather(*waiting)} == {403}
        assert await stage.status("/?namespace=n1", "many") == 403  # their places are free again


async def test_the_questions_about_namespaces_that_one_user_names_are_few_a_second() -> None:
    async with staged() as stage:
        stage.reviews.add("many")
        stage.reviews.add("tenant", in_namespace("b"))

        async def named(start: int) -> int:
            return await stage.status(f"/?namespace={','.join(f'n{at}' for at in range(start, start + 50))}", "many")

        def asked() -> int:
            return sum(isinstance(what, Resource) and what.namespace[:1] == "n" for _, what in stage.reviews.asked)

        assert [await named(start) for start in range(0, 300, 50)] == [403, 403, 429, 429, 429, 429]
        assert asked() == 100
        assert await stage.status("/?namespace=b", "tenant") == 200
        stage.now += 2.0
        assert await named(300) == 429
        assert asked() == 120


async def test_of_those_that_wait_for_a_change_few_are_of_one_user() -> None:
    rooms = SharedPlaces(100)

    async def by_header(request: web.Request) -> web.StreamResponse | None:
        assert take(request, rooms, request.headers["User"])
        return None

    async with served(guard=by_header) as made, asyncio.timeout(60):
        poll = f"/api/v1/findings?wait=50&generation={made.engine.generation}"
        waiting = [await opened(made, poll, "many") for _ in range(8)]
        while (await made.get(poll.replace("50", "0.05"), User="many"))[0] != 503:
            pass
        assert (await made.get(poll.replace("50", "0.05"), User="other"))[0] == 200
        for writer in waiting:
            writer.close()


async def opened(made: Served, path: str, user: str) -> asyncio.StreamWriter:
    _, writer = await made.connect()
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser: {user}\r\n\r\n".encode())
    return writer
