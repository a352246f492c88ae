"""None of our clients goes where a server sends it: the token is for that server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from exporter.kube.errors import StatusError
from exporter.kube.get_json import JSONServer
from exporter.kube.transport import Transport
from reconcile.carry_out.finding_source import ExporterSource, SourceError
from tests.secure_server import config

STATUSES = (301, 302, 303, 307, 308)


@pytest.fixture
async def sent() -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """A server that sends everybody elsewhere, with the status that is in the path; and what it was asked for."""
    asked: list[tuple[str, str]] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append((request.method, request.path))
        if request.path == "/elsewhere":
            return web.json_response({"kind": "Status", "token": request.headers.get("Authorization", "")})
        status = request.path.strip("/").partition("/")[0]
        return web.Response(status=int(status), headers={"Location": "/elsewhere"})

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
async def test_the_api_server_s_is_an_answer_like_any_other(
    sent: tuple[str, list[tuple[str, str]]], tmp_path: Path, method: str
) -> None:
    url, asked = sent
    transport = Transport.from_environment(config(tmp_path / "config", url, {"token": "t"}))
    try:
        for status in STATUSES:
            with pytest.raises(StatusError, match="it redirects to '/elsewhere', which is not followed") as error:
                async with transport.open(method, f"/{status}", read_seconds=5, body={} if method != "GET" else None):
                    pass
            assert error.value.code == status
    finally:
        await transport.close()
    assert asked == [(method, f"/{status}") for status in STATUSES]


async def test_the_exporter_s_is_said_and_not_followed(sent: tuple[str, list[tuple[str, str]]], tmp_path: Path) -> None:
    url, asked = sent
    (tmp_path / "token").write_text("t")
    for status in STATUSES:
        source = ExporterSource(JSONServer(f"{url}/{status}", str(tmp_path / "token")), lambda: 0.0)
        with pytest.raises(SourceError, match=f"was answered with {status}"):
            await source.observed()
    assert asked == [("GET", f"/{status}/api/v1/findings") for status in STATUSES]
