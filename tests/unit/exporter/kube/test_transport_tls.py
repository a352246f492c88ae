"""TLS as configured in the kubeconfig, in both directions, and through a proxy."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import trustme

from exporter.kube.errors import ConfigError, UnreachableError
from tests.secure_server import config, gate, proxy

from ....secure_server import clean_environment, get, opened
from ....tls_clients import Tls

__all__ = ["clean_environment"]

_GONE_SECONDS = 10.0  # asyncio waits 30 for a TLS shutdown


async def test_a_server_certificate_of_the_clusters_ca(tls: Tls, tmp_path: Path) -> None:
    async with gate(tls.server) as here:
        path = config(tmp_path / "a", here.url, cluster={"certificate-authority": tls.ca})
        async with opened(path) as transport:
            assert await get(transport) == b"first last"


async def test_a_server_certificate_of_another_ca(tls: Tls, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    async with gate(tls.server) as here:
        path = config(tmp_path / "a", here.url, cluster={"certificate-authority": str(other)})
        async with opened(path, reload_seconds=0) as transport:
            with pytest.raises(UnreachableError) as caught:
                await get(transport)
            assert f"the certificate of {here.url} is not valid: " in str(caught.value)
            assert "issuer" in str(caught.value) or "signature" in str(caught.value)

            tls.authority.cert_pem.write_to_path(str(other))  # the cluster's CA was rotated
            assert await get(transport) == b"first last"


async def test_a_server_certificate_for_another_name(tls: Tls, tmp_path: Path) -> None:
    async with gate(tls.serves("kube.example.org")) as here:
        ca = {"certificate-authority": tls.ca}
        async with opened(config(tmp_path / "a", here.url, cluster=ca)) as transport:
            with pytest.raises(UnreachableError, match=r"is not valid: IP address mismatch"):
                await get(transport)
        renamed = {**ca, "tls-server-name": "kube.example.org"}
        async with opened(config(tmp_path / "b", here.url, cluster=renamed)) as transport:
            assert await get(transport) == b"first last"
        insecure = {"insecure-skip-tls-verify": True}
        async with opened(config(tmp_path / "c", here.url, cluster=insecure)) as transport:
            assert await get(transport) == b"first last"


async def test_a_client_certificate(tls: Tls, tmp_path: Path) -> None:
    ca = {"certificate-authority": tls.ca}
    async with gate(tls.wants_certificates()) as here:
        ours = {"client-certificate": tls.certificate, "client-key": tls.key}
        async with opened(config(tmp_path / "a", here.url, ours, cluster=ca)) as transport:
            await get(transport)
        async with opened(config(tmp_path / "b", here.url, {"token": "t"}, cluster=ca)) as transport:
            with pytest.raises(UnreachableError, match=r"no connection to https://"):
                await get(transport)
    assert here.certificates[-1] == "steward"


async def test_malformed_certificates(tls: Tls, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    path = config(tmp_path / "a", "https://127.0.0.1:1", cluster={"certificate-authority": str(bad)})
    async with opened(path) as transport:
        with pytest.raises(ConfigError, match=r"^the certificates for https://127.0.0.1:1 can't be used: "):
            await get(transport)


@pytest.mark.parametrize("source", ["kubeconfig", "environment"])
async def test_through_a_proxy(tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    async with gate(tls.server) as here, proxy() as (through, asked):
        cluster = {"certificate-authority": tls.ca}
        if source == "kubeconfig":
            cluster["proxy-url"] = through
        else:
            monkeypatch.setenv("https_proxy", through)
        async with opened(config(tmp_path / "a", here.url, {"token": "t"}, cluster=cluster)) as transport:
            assert await get(transport) == b"first last"

    assert asked == [f"CONNECT {here.url.removeprefix('https://')} HTTP/1.1"]
    assert here.shown == ["Bearer t"]


async def test_nobody_is_there(tmp_path: Path) -> None:
    async with opened(config(tmp_path / "a", "http://127.0.0.1:1")) as transport:
        with pytest.raises(UnreachableError, match=r"^no connection to http://127.0.0.1:1: "):
            await get(transport)


class Mute:
    """A server over TLS that begins an answer, or none, and then hears nothing: no TLS shutdown either."""

    def __init__(self, context: ssl.SSLContext, answer: bytes) -> None:
        self._context, self._answer = context, answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked, self._thread = threading.Event(), threading.Thread(target=self._serve, daemon=True)
        self.ended = False  # whether the client's socket was closed in time

    def __enter__(self) -> Mute:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        raw, _ = self._listener.accept()
        with raw, self._context.wrap_socket(raw.dup(), server_side=True) as secure:
            secure.recv(65536)
            secure.sendall(self._answer)
            self.asked.set()
            watched = select.poll()
            watched.register(raw, select.POLLHUP | select.POLLRDHUP)
            self.ended = bool(watched.poll(_GONE_SECONDS * 1000))

    async def until_ended(self) -> bool:
        await asyncio.to_thread(self._thread.join)
        return self.ended


_HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("canceled", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="no answer"),
        pytest.param(_HEAD + b"Content-Length: 9\r\n\r\n{", id="half an answer"),
        pytest.param(_HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}", id="the last answer"),
    ],
)
async def test_a_connection_to_a_frozen_server_ends_with_its_request(
    answer: bytes, canceled: bool, tls: Tls, tmp_path: Path
) -> None:
    """And does not stay for as long as a TLS shutdown is waited for."""
    with Mute(tls.server, answer) as server:
        kubeconfig = config(tmp_path / "mute", server.url, {"token": "x"}, {"certificate-authority": tls.ca})
        async with opened(kubeconfig) as transport:

            async def ask() -> None:
                with suppress(UnreachableError):
                    async with transport.open("GET", "/x", read_seconds=60 if canceled else 0.2) as response:
                        await response.read()

            asking = asyncio.create_task(ask())
            assert await asyncio.to_thread(server.asked.wait, 10)
            if canceled:
                asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            assert await server.until_ended()
