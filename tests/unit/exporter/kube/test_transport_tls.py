"""TLS as configured in the kubeconfig, in both directions, and through a proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from exporter.kube.errors import ConfigError, UnreachableError
from tests.secure_server import config, gate, proxy
from tests.tls_files import Tls
from tests.transport_stage import clean_environment, get, opened

__all__ = ["clean_environment"]


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
