"""TLS as the kubeconfig says, in both directions, and through a proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from exporter.kube.errors import ConfigError, UnreachableError

from .conftest import Tls
from .secure_server import config, gate, proxy
from .test_transport import get, nothing_of_this_vm, opened

__all__ = ["nothing_of_this_vm"]


async def test_a_server_that_proves_who_it_is(tls: Tls, tmp_path: Path) -> None:
    async with gate(tls.server) as here:
        path = config(tmp_path / "a", here.url, cluster={"certificate-authority": tls.ca})
        async with opened(path) as transport:
            assert await get(transport) == b"first last"


async def test_a_server_that_another_ca_vouches_for(tls: Tls, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    async with gate(tls.server) as here:
        path = config(tmp_path / "a", here.url, cluster={"certificate-authority": str(other)})
        async with opened(path, reload_seconds=0) as transport:
            with pytest.raises(UnreachableError) as caught:
                await get(transport)
            assert f"the certificate of {here.url} is not valid: " in str(caught.value)
            assert "issuer" in str(caught.value) or "signature" in str(caught.value)

            tls.authority.cert_pem.write_to_path(str(other))  # the cluster's CA was renewed
            assert await get(transport) == b"first last"


async def test_a_server_by_another_name(tls: Tls, tmp_path: Path) -> None:
    async with gate(tls.serves("kube.example.org")) as here:
        ca = {"certificate-authority": tls.ca}
        async with opened(config(tmp_path / "a", here.url, cluster=ca)) as transport:
            with pytest.raises(UnreachableError, match=r"is not valid: IP address mismatch"):
                await get(transport)
        reported = {**ca, "tls-server-name": "kube.example.org"}
        async with opened(config(tmp_path / "b", here.url, cluster=reported)) as transport:
            assert await get(transport) == b"first last"
        blind = {"insecure-skip-tls-verify": True}
        async with opened(config(tmp_path / "c", here.url, cluster=blind)) as transport:
            assert await get(transport) == b"first last"


async def test_a_certificate_of_ours(tls: Tls, tmp_path: Path) -> None:
    ca = {"certificate-authority": tls.ca}
    async with gate(tls.wants_certificates()) as here:
        ours = {"client-certificate": tls.certificate, "client-key": tls.key}
        async with opened(config(tmp_path / "a", here.url, ours, cluster=ca)) as transport:
            await get(transport)
        async with opened(config(tmp_path / "b", here.url, {"token": "t"}, cluster=ca)) as transport:
            with pytest.raises(UnreachableError, match=r"no connection to https://"):
                await get(transport)
    assert here.certificates[-1] == "steward"


async def test_certificates_that_are_none(tls: Tls, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    path = config(tmp_path / "a", "https://127.0.0.1:1", cluster={"certificate-authority": str(bad)})
    async with opened(path) as transport:
        with pytest.raises(ConfigError, match=r"^the certificates for https://127.0.0.1:1 can't be used: "):
            await get(transport)


@pytest.mark.parametrize("reported_by", ["kubeconfig", "environment"])
async def test_through_a_proxy(tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reported_by: str) -> None:
    async with gate(tls.server) as here, proxy() as (through, asked):
        cluster = {"certificate-authority": tls.ca}
        if reported_by == "kubeconfig":
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
