"""Login through a real oauth2-proxy, with tokens of a provider that a real API server knows."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from exporter.app import assemble, serve, wait_until_seen
from exporter.config.settings import Config
from exporter.kube.transport import Transport
from exporter.serve.server.certificates import Certificates
from tests.cluster.apiserver import ApiServer, Setup
from tests.cluster.client import Client
from tests.cluster.conftest import Tools
from tests.cluster.custom_resources import crds, install
from tests.cluster.exporter import grant, grant_access
from tests.cluster.process import Process, answers, free_ports
from tests.oidc_provider import CLIENT, SECRET, Provider, provider

pytestmark = pytest.mark.long
ANNA = {"sub": "1", "email": "anna@example.org", "email_verified": True, "groups": ["platform"]}
BOB = {"sub": "2", "email": "bob@example.org", "email_verified": True, "groups": ["guests"]}
RBAC = "rbac.authorization.k8s.io"
HANDED_OVER = {"authorization": "--pass-authorization-header", "access token": "--pass-access-token"}
TOKEN_HEADER = "X-Forwarded-Access-Token"


class Stage:
    """Provider, API server, steward and proxy. `browser` keeps cookies, as one does, and follows where it is led."""

    def __init__(self, oidc: Provider, steward: str, proxy: str, browser: aiohttp.ClientSession) -> None:
        self.oidc, self.steward, self.proxy, self.browser = oidc, steward, proxy, browser

    async def get(self, url: str, **headers: str) -> tuple[int, str]:
        """The names of headers are written with _ for -."""
        sent = {"Accept": "text/html"} | {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.browser.get(url, headers=sent) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def signing_on(binary: Tools, folder: Path, flag: str, login: dict[str, Any]) -> AsyncIterator[Stage]:
    authority = trustme.CA()
    async with AsyncExitStack() as stack:
        oidc = await stack.enter_async_context(provider(folder, authority))
        server = await asyncio.to_thread(_api_server, stack, binary, oidc)
        transport = Transport.from_environment(str(server.kubeconfig("steward-exporter")))
        pair = authority.issue_cert("127.0.0.1")
        pair.cert_chain_pems[0].write_to_path(str(folder / "tls.crt"))
        pair.private_key_pem.write_to_path(str(folder / "tls.key"))
        tls = Certificates(folder / "tls.crt", folder / "tls.key")
        config = Config.model_validate({"login": login})
        steward = assemble(transport, config)
        url = await stack.enter_async_context(serve(steward, "127.0.0.1", 0, tls=tls, login=config.login))
        proxy = await asyncio.to_thread(_proxy, stack, binary("oauth2-proxy"), folder, oidc, url, flag)
        assert await wait_until_seen(steward, 60)
        connector = aiohttp.TCPConnector(ssl=_trusting(authority))
        jar = aiohttp.CookieJar(unsafe=True)  # of addresses, too
        browser = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, cookie_jar=jar))
        yield Stage(oidc, url, proxy, browser)


def _trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def _api_server(stack: AsyncExitStack, binary: Tools, oidc: Provider) -> ApiServer:
    flags = (
        *("--disable-admission-plugins", "ServiceAccount", "--oidc-issuer-url", oidc.url, "--oidc-client-id", CLIENT),
        *("--oidc-ca-file", oidc.ca_file, "--oidc-username-claim", "email", "--oidc-username-prefix", "oidc:"),
        *("--oidc-groups-claim", "groups", "--oidc-groups-prefix", "oidc:"),
    )
    server = ApiServer(binary("etcd"), binary("kube-apiserver"), Setup(flags=flags))
    stack.callback(server.stop)
    server.start()
    admin = server.client()
    install(admin, crds())
    grant(admin)
    grant_access(admin)
    _let_platform_view(admin)
    return server


def _let_platform_view(admin: Client) -> None:
    admin.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "platform-views"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "steward-viewer"},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "oidc:platform"}],
        }
    )


def _proxy(stack: AsyncExitStack, binary: Path, folder: Path, oidc: Provider, steward: str, flag: str) -> str:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    flags: dict[str, object] = {
        "--http-address": f"127.0.0.1:{port}",
        "--provider": "oidc",
        "--oidc-issuer-url": oidc.url,
        "--provider-ca-file": oidc.ca_file,
        "--client-id": CLIENT,
        "--client-secret": SECRET,
        "--cookie-secret": secrets.token_hex(16),
        "--cookie-secure": "false",  # this proxy has no certificate
        "--email-domain": "*",
        "--scope": "openid email groups",
        "--redirect-url": f"{url}/oauth2/callback",
        "--upstream": steward,
        "--skip-provider-button": "true",
    }
    # It trusts the steward's certificate, as the environment of its container has it.
    words = [f"{name}={value}" for name, value in flags.items()]
    command: list[str | Path] = ["env", f"SSL_CERT_FILE={oidc.ca_file}", binary, *words, flag]
    process = Process("oauth2-proxy", command, folder / "oauth2-proxy.log")
    process.start(lambda: answers(f"{url}/ping"))
    stack.callback(process.kill)
    return url


@pytest.mark.parametrize("way", HANDED_OVER)
async def test_who_logs_in_at_the_provider_sees_what_the_api_server_lets_them_see(
    way: str, binary: Tools, tmp_path: Path
) -> None:
    login = {"tokenHeader": TOKEN_HEADER} if way == "access token" else {}
    async with signing_on(binary, tmp_path, HANDED_OVER[way], login) as stage:
        stage.oidc.user = ANNA
        status, page = await stage.get(f"{stage.proxy}/findings")
        assert (status, "<h1>0 findings of 0 causes</h1>" in page) == (200, True), page[:500]
        status, text = await stage.get(f"{stage.proxy}/api/v1/generation")
        assert (status, "generation" in text) == (200, True)

        stage.browser.cookie_jar.clear()
        stage.oidc.user = BOB
        status, page = await stage.get(f"{stage.proxy}/findings")
        assert (status, "oidc:bob@example.org has no permission" in page) == (403, True)

        # Who puts a name or a token of their own into headers stays who they are.
        forged = {"X_Forwarded_User": "oidc:anna@example.org", "X_Forwarded_Groups": "oidc:platform"}
        assert (await stage.get(f"{stage.proxy}/findings", **forged))[0] == 403
        anna = stage.oidc.signed(ANNA)
        assert (await stage.get(f"{stage.proxy}/findings", X_Forwarded_Access_Token=anna))[0] == 403
        stage.browser.cookie_jar.clear()
        for header in (forged, {"Remote_User": "oidc:anna@example.org"}, {"X_Forwarded_Access_Token": "anna"}):
            assert (await stage.get(f"{stage.steward}/findings", **header))[0] == 401
        other = secrets.token_hex(16)
        assert (await stage.get(f"{stage.steward}/findings", Authorization=f"Bearer {anna[:-8]}{other[:8]}"))[0] == 401
        assert (await stage.get(f"{stage.steward}/findings", Authorization=f"Bearer {anna}"))[0] == 200


async def test_a_token_that_the_provider_gave_is_a_login_too(binary: Tools, tmp_path: Path) -> None:
    async with signing_on(binary, tmp_path, HANDED_OVER["authorization"], {}) as stage:
        form = {"token": stage.oidc.signed(ANNA), "next": "/findings"}
        async with stage.browser.post(f"{stage.steward}/login", data=form) as answer:
            page = await answer.text()
        assert (answer.status, answer.url.path) == (200, "/findings")
        assert "<span>oidc:anna@example.org</span>" in page
        async with stage.browser.post(f"{stage.steward}/logout") as answer:
            assert answer.url.path == "/login"
        assert (await stage.get(f"{stage.steward}/findings"))[0] == 401
