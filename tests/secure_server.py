"""Small servers for tests of the transport: one that wants credentials, over TLS too, and a proxy."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.kube.transport import Transport

__all__ = ["Gate", "config", "gate", "proxy"]

Obj = dict[str, Any]


@dataclass
class Gate:
    """What it lets in, and what it was shown. `hold` keeps answers open until it is set."""

    url: str = ""
    lets_in: Callable[[str], bool] = lambda _: True
    shown: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    certificates: list[str] = field(default_factory=list)
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        token = request.headers.get("Authorization", "")
        self.shown.append(token)
        self.agents.append(request.headers.get("User-Agent", ""))
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        self.certificates += [subject[0][1] for subject in (certificate or {}).get("subject", ()) if subject]
        if not self.lets_in(token):
            return web.json_response({"kind": "Status", "message": "Unauthorized", "code": 401}, status=401)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first ")
        if request.path == "/held":
            await self.hold.wait()
        await response.write(b"last")
        return response


@asynccontextmanager
async def gate(context: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[Gate]:
    served = Gate(**options)
    runner = web.ServerRunner(web.Server(served.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    served.url = f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield served
    finally:
        await runner.cleanup()


@asynccontextmanager
async def proxy() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that tunnels; its URL, and the first line of each request."""
    asked: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.partition("\r\n")[0])
        host, _, port = head.split()[1].rpartition(":")
        there, out = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, out), pump(there, writer))

    server = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


def config(path: Path, server: str, user: Obj | None = None, cluster: Mapping[str, Any] | None = None) -> str:
    """Writes a kubeconfig with one context; its path."""
    named = {"name": path.stem}
    path.write_text(
        json.dumps(
            {
                "clusters": [{**named, "cluster": {"server": server, **(cluster or {})}}],
                "contexts": [{**named, "context": {"cluster": path.stem, **({"user": path.stem} if user else {})}}],
                "users": [{**named, "user": user}] if user else [],
                "current-context": path.stem,
            }
        )
    )
    return str(path)


# A transport by a kubeconfig, in an environment without others.


@asynccontextmanager
async def opened(kubeconfig: str | None, context: str | None = None, **options: Any) -> AsyncIterator[Transport]:
    transport = Transport.from_environment(kubeconfig, context, **options)
    try:
        yield transport
    finally:
        await transport.close()


async def get(transport: Transport, path: str = "/version") -> bytes:
    async with transport.open("GET", path, read_seconds=5) as response:
        return await response.read()


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
