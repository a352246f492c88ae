"""Whatever is served with a certificate is served to those who have a token for it, and nobody can forget to ask."""

from __future__ import annotations

from pathlib import Path

import aiohttp
from aiohttp import web

from demo.apiserver.server import kubeconfig
from exporter.app import assemble, serve
from exporter.config.settings import Config as ExporterConfig
from exporter.kube.transport import Transport
from exporter.serve.server.certificates import Certificates
from reconcile.app import run
from reconcile.config.settings import SidecarConfig

from .....asking import get
from .....fakeapi.apiserver import FakeApiServer
from .....served import served
from .....tls_clients import Mounted

TOKEN = {"Authorization": "Bearer some.token"}


async def statuses(http: aiohttp.ClientSession, path: str) -> list[int]:
    """Without a token, and with one that the API server is not there to accept: this one answers no reviews."""
    return [(await get(http, path))[0], (await get(http, path, **TOKEN))[0]]


async def test_the_exporter_asks_for_a_token_once_it_has_a_certificate(cluster: FakeApiServer, tmp_path: Path) -> None:
    mounted = Mounted(tmp_path)
    steward = assemble(Transport.from_environment(str(kubeconfig(tmp_path, cluster.url))))
    connector = aiohttp.TCPConnector(ssl=mounted.trusts)
    async with (
        serve(steward, "127.0.0.1", 0, tls=Certificates(*mounted.files)) as url,
        aiohttp.ClientSession(base_url=url, connector=connector) as http,
    ):
        for path in ("/", "/metrics", "/api/v1/findings", "/nothing"):
            assert await statuses(http, path) == [401, 503], path
        assert (await get(http, "/healthz"))[0] == 200
        why = (await get(http, "/readyz"))[1]
    assert why in ("ok\n", "not ready\n")


async def test_so_does_the_sidecar(cluster: FakeApiServer, tmp_path: Path) -> None:
    mounted = Mounted(tmp_path)
    (tmp_path / "ledger").mkdir()
    certificate, key = map(str, mounted.files)
    settings = {
        "listen": "127.0.0.1:0",
        "ledger": {"directory": str(tmp_path / "ledger")},
        "source": {"url": "http://127.0.0.1:9"},
        "tls": {"certFile": certificate, "keyFile": key},
    }
    transport = Transport.from_environment(str(kubeconfig(tmp_path, cluster.url)))
    connector = aiohttp.TCPConnector(ssl=mounted.trusts)
    async with (
        run(SidecarConfig.model_validate(settings), transport, ExporterConfig()) as (url, _),
        aiohttp.ClientSession(base_url=url, connector=connector) as http,
    ):
        for path in ("/metrics", "/api/v1/plans", "/nothing"):
            assert await statuses(http, path) == [401, 503], path
        assert (await get(http, "/healthz"))[0] == 200


async def test_the_address_of_a_client_is_known_through_tls(tmp_path: Path) -> None:
    """By which wrong tokens are counted: of no address they would be everybody's."""
    mounted, seen = Mounted(tmp_path), []

    async def guard(request: web.Request) -> web.StreamResponse | None:
        seen.append(request.remote)
        return web.Response(status=401)

    async with served(tls=(Certificates(*mounted.files), mounted.trusts), guard=guard) as made:
        assert (await made.get("/"))[0] == 401
    assert seen == ["127.0.0.1"]
