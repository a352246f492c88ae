"""Requests that are to get past the question who asks: by their path, method, form, or another request before them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from exporter.serve.access.access import FINDINGS, METRICS

from .....access_stage import Stage, in_namespace, staged
from .....all_of import each_of


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as made:
        made.reviews.add("viewer", FINDINGS)
        made.reviews.add("scraper", METRICS)
        made.reviews.add("tenant", in_namespace("b"))
        made.reviews.add("nobody")
        yield made


async def raw(stage: Stage, *requests: str) -> str:
    """All that is answered to requests that are sent at once, the last of which closes the connection."""
    port = int(stage.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("".join(requests).encode("latin-1"))
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return answer.decode("latin-1")


def head(line: str, token: str = "", *more: str, version: str = "1.1", goes_on: bool = False) -> str:
    lines = [f"{line} HTTP/{version}", "Host: 127.0.0.1", *more, *([] if goes_on else ["Connection: close"])]
    return "\r\n".join([*lines, *([f"Authorization: Bearer {token}"] if token else []), "", ""])


PATHS = [
    "//metrics",
    "/metrics/",
    "/METRICS",
    "/%6detrics",
    "/metrics%00",
    "/metrics%2f",
    "/healthz/../metrics",
    "/healthz/%2e%2e/metrics",
    "/healthz;/metrics",
    "/./metrics",
    "/own/../api/v1/drain",
    "/own%2f..%2fapi/v1/drain",
    "/api%2fv1%2fdrain",
    "/api/v1/drain/",
    "/api/v1/drain?x=/own",
    "/api/v1//drain",
    "/api/v1/drain#/own",
    "/\\metrics",
    "http://127.0.0.1/metrics",
    "http://127.0.0.1/healthz/../metrics",
    "http://own/api/v1/drain",
    "http:///own",
    "*",
    "/",
]


@each_of("path", PATHS)
@each_of("method", ["GET", "HEAD", "POST", "OPTIONS", "TRACE", "get", "PROPFIND"])
async def test_no_path_or_method_is_answered_without_a_token(stage: Stage, path: str, method: str) -> None:
    for version in ("1.1", "1.0"):
        for who in ("", "wrong", "nobody"):
            override = "X-HTTP-Method-Override: GET", "X-Original-URL: /own", "X-Forwarded-Prefix: /own"
            answer = await raw(stage, head(f"{method} {path}", who, *override, version=version))
            assert answer.split(" ")[1] in ("400", "401", "403", "405"), (version, who, answer)
            assert "everything" not in answer
            assert "api/v1/drain, " not in answer  # which paths there are is nothing for strangers


@each_of("path", PATHS[:-1])
async def test_no_path_shows_a_tenant_or_a_scraper_everything(stage: Stage, path: str) -> None:
    for who in ("tenant", "scraper"):
        answer = await raw(stage, head(f"GET {path}", who))
        if who == "scraper" and answer.startswith("HTTP/1.1 200"):
            continue  # another way to write /metrics
        assert answer.split(" ")[1] in ("400", "403"), answer
        assert "everything" not in answer


async def test_each_request_of_a_connection_is_asked_who_it_is(stage: Stage) -> None:
    answers = await raw(
        stage,
        head("GET /api/v1/drain", "viewer", goes_on=True),
        head("GET /api/v1/drain", goes_on=True),
        head("GET /", "tenant", goes_on=True),
        head("GET /healthz", goes_on=True),
        head("GET /api/v1/drain", "tenant"),
    )
    assert re.findall(r"HTTP/1\.1 (\d+)", answers) == ["200", "401", "200", "200", "403"]
    assert answers.count("everything") == 1


async def test_a_request_in_the_body_of_another_is_none(stage: Stage) -> None:
    inner = head("GET /own")
    for framing in (
        [f"Content-Length: {len(inner)}"],
        ["Transfer-Encoding: chunked", f"Content-Length: {len(inner)}"],
        ["Content-Length: 0", f"Content-Length: {len(inner)}"],
        ["Transfer-Encoding: identity, chunked"],
    ):
        answer = await raw(stage, head("GET /metrics", "", *framing) + inner)
        assert answer.count("everything") == 0, (framing, answer)


async def test_a_tag_of_others_is_no_answer(stage: Stage) -> None:
    for tag in ("*", '"0.1.2"', 'W/"0.1.2"'):
        assert "HTTP/1.1 401" in await raw(stage, head("GET /api/v1/drain", "", f"If-None-Match: {tag}"))
        assert "HTTP/1.1 403" in await raw(stage, head("GET /api/v1/drain", "tenant", f"If-None-Match: {tag}"))


async def test_a_page_of_another_site_is_refused_also_with_a_token(stage: Stage) -> None:
    """A browser that was given one sends it along with whatever a page asks for."""
    for more in (["Origin: https://evil.example"], ["Sec-Fetch-Site: cross-site"], ["Origin: null"]):
        for path in ("/", "/metrics", "/api/v1/drain"):
            answer = await raw(stage, head(f"GET {path}", "viewer", *more))
            assert answer.startswith("HTTP/1.1 403"), answer
            assert "Access-Control" not in answer
    assert stage.reviews.asked == []
