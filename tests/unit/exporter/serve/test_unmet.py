"""What a client expects and does not get is one answer in one sentence, and nothing for the log."""

from __future__ import annotations

import logging

import pytest

from ....served import served

SENT = {
    "another coding": (415, "Content-Encoding: garbage\r\n"),
    "no gzip": (415, "Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\ngarbage"),
    "no deflate, in chunks": (
        415,
        "Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ngarbage\r\n0\r\n",
    ),
    "another expectation": (417, "Expect: garbage\r\n"),
}


@pytest.mark.parametrize(("status", "sent"), SENT.values(), ids=SENT)
@pytest.mark.parametrize("path", ["/", "/api/v1/findings", "/healthz"])
async def test_it_is_refused_in_a_sentence(caplog: pytest.LogCaptureFixture, path: str, status: int, sent: str) -> None:
    caplog.set_level(logging.INFO)
    async with served() as made:
        found, headers, body = await made.raw(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{sent}\r\n"
        )
    assert found == status
    assert len(body.splitlines()) == 1
    assert b"garbage" not in body
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert not caplog.records


async def test_who_waits_to_go_on_may() -> None:
    async with served() as made:
        request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        status, _, body = await made.raw(request)
    assert status == 100
    assert body.startswith(b"HTTP/1.1 200 OK\r\n")
