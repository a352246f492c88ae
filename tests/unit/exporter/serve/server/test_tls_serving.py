"""What is served over TLS: the certificate and its replacement, and what a client that is slow can't do."""

from __future__ import annotations

import asyncio
import gc
import logging
import ssl
from asyncio import sslproto
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from prometheus_client.parser import text_string_to_metric_families

from exporter.config.settings import TLSSettings
from exporter.kube.errors import ConfigError
from exporter.serve import application
from exporter.serve.server import certificates, connections, rooms
from exporter.serve.server.certificates import Certificates, certificates_of

from .....served import Served, established, served
from .....tls_clients import Mounted, hello, silent


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


@asynccontextmanager
async def secured(mounted: Mounted, count: int = 3) -> AsyncIterator[Served]:
    async with served(count, tls=(Certificates(*mounted.files), mounted.trusts)) as made:
        yield made


async def serial(made: Served) -> str:
    """Of the certificate that a new connection is shown."""
    _, writer = await made.connect()
    found: str = writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]
    writer.close()
    return found


async def replaced(made: Served, before: str) -> None:
    async with asyncio.timeout(30):
        while await serial(made) == before:
            pass


# -- the certificate


async def test_any_host_is_answered_and_no_page_of_another_site(mounted: Mounted) -> None:
    async with secured(mounted) as made:
        assert made.url.startswith("https://127.0.0.1:")
        for host in ("steward.monitoring.svc", "steward.example.org:443"):
            assert (await made.get("/api/v1/findings", Host=host))[0] == 200
        assert (await made.get("/api/v1/findings", Origin="https://evil.example"))[0] == 403
        assert (await made.get("/api/v1/findings", Sec_Fetch_Site="cross-site"))[0] == 403


async def test_a_new_certificate_is_served_to_new_connections(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "_LOOK", 0.02)
    async with secured(mounted) as made, aiohttp.ClientSession(made.url) as http:
        before = await serial(made)
        async with http.get("/healthz", ssl=mounted.trusts) as answer:
            assert answer.status == 200
            mounted.issue()
            await replaced(made, before)
        async with http.get("/healthz", ssl=mounted.trusts) as answer:  # on the connection from before
            assert answer.status == 200


@pytest.mark.parametrize("broken", ["half", "mismatch", "empty", "gone"])
async def test_a_broken_pair_keeps_the_one_before_with_one_line(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    monkeypatch.setattr(certificates, "_LOOK", 0.02)

    def lines() -> list[str]:
        return [each.getMessage() for each in caplog.records if "certificate rejected" in each.getMessage()]

    certificate, key = (file.read_bytes() for file in mounted.files)
    other = mounted.authority.issue_cert("127.0.0.1").private_key_pem.bytes()
    pairs = {"half": (certificate[:300], key), "mismatch": (certificate, other), "empty": (b"", b"")}
    async with secured(mounted) as made:
        before = await serial(made)
        if broken == "gone":
            for file in mounted.files:
                file.resolve().unlink()
        else:
            mounted.put(*pairs[broken])
        async with asyncio.timeout(30):
            while not lines():
                assert await serial(made) == before
        assert await serial(made) == before
        assert (await made.get("/healthz"))[0] == 200
        mounted.issue()
        await replaced(made, before)
    assert len(lines()) == 1


async def test_when_it_expires_is_a_metric(mounted: Mounted) -> None:
    async with secured(mounted) as made:
        _, _, body = await made.raw("GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        families = {each.name: each for each in text_string_to_metric_families(body.decode())}
        _, writer = await made.connect()
        ends = ssl.cert_time_to_seconds(writer.get_extra_info("ssl_object").getpeercert()["notAfter"])
        writer.close()
    (sample,) = families["kubevirt_steward_certificate_expiry_timestamp_seconds"].samples
    assert sample.value == ends


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        (None, "own", "tls.certFile: .*/tls.crt can't be read: No such file or directory; mount its Secret there, .*"),
        ("own", None, "tls.keyFile: .*/tls.key can't be read: No such file or directory; mount its Secret there, .*"),
        ("text", "own", "tls.certFile: .*/tls.crt has no certificate in PEM form"),
        ("own", "text", "tls.keyFile: .*/tls.key has no private key in PEM form that can be used"),
        ("own", "locked", "tls.keyFile: the key in .*/tls.key has a password. Write it without a password"),
        ("own", "other", "the key in .*/tls.key is of another certificate than .*/tls.crt. Replace one of them"),
    ],
)
def test_a_pair_that_can_not_be_served_is_refused_at_the_start(
    certificate: str | None, key: str | None, said: str, tmp_path: Path
) -> None:
    made, other = (trustme.CA().issue_cert("a.example") for _ in range(2))
    private = serialization.load_pem_private_key(made.private_key_pem.bytes(), None)
    locked = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    contents = {"text": b"nothing\n", "other": other.private_key_pem.bytes(), "locked": locked}
    files = tmp_path / "tls.crt", tmp_path / "tls.key"
    own = made.cert_chain_pems[0].bytes(), made.private_key_pem.bytes()
    for file, kind, mine in zip(files, (certificate, key), own, strict=True):
        if kind is not None:
            file.write_bytes(contents.get(kind, mine))
    with pytest.raises(ConfigError, match=f"^{said}$"):
        Certificates(*files)


def test_a_certificate_that_has_expired_is_served_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun, ended = (datetime(year, 1, 1, tzinfo=UTC) for year in (2019, 2020))
    made = trustme.CA().issue_cert("a.example", not_before=begun, not_after=ended)
    (tmp_path / "tls.crt").write_bytes(made.cert_chain_pems[0].bytes())
    (tmp_path / "tls.key").write_bytes(made.private_key_pem.bytes())
    Certificates(tmp_path / "tls.crt", tmp_path / "tls.key")
    assert 'event="certificate expired"' in caplog.text


@pytest.mark.parametrize(
    ("tls", "insecure", "said"),
    [
        (TLSSettings(), False, "serving is not configured.*tls.certFile and tls.keyFile.*--insecure"),
        (TLSSettings(cert_file="/c", key_file="/k"), True, "tls.certFile and insecure contradict each other. .*"),
    ],
)
def test_how_to_serve_has_to_be_said_once(tls: TLSSettings, insecure: bool, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^{said}$"):
        certificates_of(tls, insecure)


# -- clients that are slow


@pytest.mark.parametrize(
    "sent",
    [b"", b"\x16", hello()[:100], hello(), b"GET / HTTP/1.1\r\n\r\n"],
    ids=["nothing", "one byte", "half a hello", "a hello", "no TLS"],  # a hello has random bytes
)
async def test_a_handshake_that_does_not_end_is_not_waited_for(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(connections, "_HEAD", 0.3)
    async with secured(mounted) as made, asyncio.timeout(20):
        client = await silent(made.port, sent)
        with suppress(ConnectionError):
            while await asyncio.get_running_loop().sock_recv(client, 65536):  # the server's part of the handshake
                pass
        client.close()
    assert not caplog.records


async def test_unfinished_handshakes_give_way(mounted: Mounted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "most_connections", lambda: 8)
    async with secured(mounted) as made, asyncio.timeout(30):
        clients = [await silent(made.port, sent) for sent in (b"", hello(), hello()[:50]) for _ in range(20)]
        for path in ("/metrics", "/", "/healthz"):
            assert (await made.get(path))[0] == 200
        with suppress(ConnectionError):
            assert await asyncio.get_running_loop().sock_recv(clients[0], 10) == b""
        for each in clients:
            each.close()


async def test_a_connection_in_use_does_not_give_way(mounted: Mounted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "most_connections", lambda: 8)
    async with secured(mounted) as made, asyncio.timeout(30):
        reader, writer = await made.connect()
        poll = f"GET /api/v1/findings?wait=50&generation={made.engine.generation} HTTP/1.1\r\nHost: a\r\n\r\n"
        writer.write(poll.encode())
        assert (await made.get("/healthz"))[0] == 200  # the other has arrived before it
        clients = [await silent(made.port, sent) for sent in (b"", hello()) for _ in range(20)]
        assert (await made.get("/healthz"))[0] == 200
        made.see("another")
        await made.notify()
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.close()
        for each in clients:
            each.close()


async def test_a_large_answer_arrives_whole_although_it_is_read_slowly(mounted: Mounted) -> None:
    async with secured(mounted, 5000) as made, asyncio.timeout(60):
        whole = (await made.get("/api/v1/findings"))[2]
        reader, writer = await asyncio.open_connection("127.0.0.1", made.port, ssl=made.trusts, limit=1024)
        writer.write(b"GET /api/v1/findings HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        got = b""
        while part := await reader.read(20_000):
            got += part
            await asyncio.sleep(0)
        writer.close()
    assert len(whole) > 2_000_000
    assert got.partition(b"\r\n\r\n")[2] == whole


async def test_a_client_that_does_not_end_tls_is_dropped(mounted: Mounted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_GOODBYE", 0.2)
    async with secured(mounted) as made, asyncio.timeout(20):
        _, writer = await made.connect()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert isinstance(writer.transport, asyncio.Transport)
        writer.transport.pause_reading()
        me = writer.get_extra_info("sockname")[1]
        while any(peer.endswith(f":{me:04X}") for peer in established(made.port)):
            assert (await made.get("/healthz"))[0] == 200
        writer.transport.abort()


def handshakes() -> int:
    """The sides of TLS that are in memory."""
    return sum(isinstance(each, sslproto.SSLProtocol) for each in gc.get_objects())


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n\r\n", hello(), hello()[:100]],
    ids=["nothing", "no TLS", "a hello", "half a hello"],
)
async def test_a_handshake_that_fails_leaves_nothing_in_memory(
    mounted: Mounted, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has buffers of half a megabyte, and the collector of garbage runs seldom."""
    monkeypatch.setattr(rooms, "_MOST", 8)
    gc.collect()
    gc.disable()
    try:
        async with secured(mounted) as made:
            before = handshakes()
            clients = [await silent(made.port, sent) for _ in range(100)]  # most of which give way at once
            assert (await made.get("/healthz"))[0] == 200
            for each in clients:
                each.close()
            async with asyncio.timeout(5):  # less than a handshake may take
                while handshakes() > before or established(made.port):  # noqa: ASYNC110 # nothing says when
                    await asyncio.sleep(0.05)
    finally:
        gc.enable()


async def test_who_asks_and_reads_nothing_gives_way(mounted: Mounted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "_MOST", 4)
    async with secured(mounted, 20_000) as made:
        clients = []
        for _ in range(4):
            _, writer = await made.connect()
            assert isinstance(writer.transport, asyncio.Transport)
            writer.transport.pause_reading()
            writer.write(b"GET /api/v1/findings HTTP/1.1\r\nHost: a\r\n\r\n")
            clients.append(writer)
        async with asyncio.timeout(12):  # less than they have to read something
            while True:
                with suppress(ConnectionError, IndexError):  # none of them waits to be read yet
                    if (await made.get("/metrics"))[0] == 200:
                        break
        for each in clients:
            each.transport.abort()


async def test_a_crowd_of_one_address_does_not_push_out_another(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "_MOST", 8)
    async with secured(mounted) as made:
        reader, writer = await made.connect()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await reader.readuntil(b"ok\n")).startswith(b"HTTP/1.1 200")
        crowd = [await silent(made.port, address="127.0.0.2") for _ in range(50)]
        async with asyncio.timeout(10):
            while len(established(made.port)) > 8:  # noqa: ASYNC110 # nothing says when
                await asyncio.sleep(0.05)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await reader.readuntil(b"ok\n")).startswith(b"HTTP/1.1 200")
        writer.close()
        for each in crowd:
            each.close()


def test_nobody_can_ask_for_another_handshake(mounted: Mounted) -> None:
    assert Certificates(*mounted.files).context.options & ssl.OP_NO_RENEGOTIATION
