"""What a server answers is read within bounds, compressed or not."""

from __future__ import annotations

import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.facts.record import Record
from exporter.kube import client as client_module
from exporter.kube.client import Client
from exporter.kube.errors import KubeError, MalformedError, StatusError, UnreachableError
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind
from tests.secure_server import config

KIND = ApiKind(Record, group="example.org", versions=("v1",), plural="things")
LIST = json.dumps({"metadata": {"resourceVersion": "7"}, "items": []}).encode()
GZIP, ZLIB = 31, 15


def compressed(content: bytes, how: int = GZIP) -> bytes:
    made = zlib.compressobj(wbits=how)
    return made.compress(content) + made.flush()


def bomb(mebibytes: int) -> bytes:
    """Compressed spaces: a thousandth of their size."""
    made = zlib.compressobj(9, wbits=GZIP)
    return b"".join(made.compress(b" " * 2**20) for _ in range(mebibytes)) + made.flush()


@asynccontextmanager
async def asking(folder: Path, body: bytes, status: int = 200, coding: str = "gzip") -> AsyncIterator[Client]:
    """A client of a server that answers everything with one body."""

    async def handle(_: Any) -> web.Response:
        return web.Response(body=body, status=status, headers={"Content-Encoding": coding} if coding else {})

    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    transport = Transport.from_environment(
        config(folder / "kubeconfig", f"http://127.0.0.1:{runner.addresses[0][1]}", {"token": "t"})
    )
    try:
        yield Client(transport)
    finally:
        await transport.close()
        await runner.cleanup()


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (LIST, ""),
        (LIST, "identity"),
        (compressed(LIST), "gzip"),
        (compressed(LIST), "X-GZip"),
        (compressed(LIST, ZLIB), "deflate"),
    ],
)
async def test_an_answer_is_read_however_it_is_compressed(tmp_path: Path, body: bytes, coding: str) -> None:
    async with asking(tmp_path, body, coding=coding) as client:
        assert await client.page(KIND, "v1", "", 10) == LIST


async def test_a_long_compressed_answer_comes_whole(tmp_path: Path) -> None:
    content = bytes(range(256)) * 2**12 * 3 + b"end"
    async with asking(tmp_path, compressed(content)) as client:
        assert await client.page(KIND, "v1", "", 10) == content


async def test_a_compressed_watch_comes_line_by_line(tmp_path: Path) -> None:
    async with asking(tmp_path, compressed(b"one\ntwo\n")) as client, client.watch(KIND, "v1", "5", 9) as lines:
        assert [line async for line in lines] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("body", "coding", "error", "why"),
    [
        (b"no gzip", "gzip", MalformedError, "the response can't be decompressed: .*incorrect header check"),
        (compressed(LIST)[:-9], "gzip", UnreachableError, "the compressed response ends before it is complete"),
        (compressed(LIST) + b"more", "gzip", MalformedError, "the compressed response has data after its end"),
        (LIST, "br", MalformedError, "the response is compressed as 'br', which was not asked for"),
    ],
)
async def test_an_answer_that_is_not_what_it_says(
    tmp_path: Path, body: bytes, coding: str, error: type[KubeError], why: str
) -> None:
    async with asking(tmp_path, body, coding=coding) as client:
        with pytest.raises(error, match=f"^{why}$"):
            await client.page(KIND, "v1", "", 10)


async def test_a_small_answer_that_becomes_large_is_not_read_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_PAGE_BYTES", 4 * 2**20)
    body = bomb(512)
    async with asking(tmp_path, body) as client:
        tracemalloc.start()
        try:
            with pytest.raises(MalformedError, match=r"^the response is larger than 4 MiB$"):
                await client.page(KIND, "v1", "", 10)
            with pytest.raises(MalformedError, match=r"^the response is larger than 8 MiB$"):
                await client.served_version(KIND)
            with pytest.raises(MalformedError, match=r"^a watch event is larger than 16777216 bytes$"):
                async with client.watch(KIND, "v1", "5", 9) as lines:
                    _ = [line async for line in lines]
            assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
        finally:
            tracemalloc.stop()


async def test_an_error_that_becomes_large_is_read_in_part(tmp_path: Path) -> None:
    async with asking(tmp_path, bomb(512), status=500) as client:
        tracemalloc.start()
        try:
            with pytest.raises(StatusError, match=r"^500 without a message$"):
                await client.page(KIND, "v1", "", 10)
            assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
        finally:
            tracemalloc.stop()


async def test_a_page_that_is_too_large_without_compression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_PAGE_BYTES", 2**20)
    async with asking(tmp_path, b" " * 2**20, coding="") as client:
        assert len(await client.page(KIND, "v1", "", 10)) == 2**20
    async with asking(tmp_path, b" " * (2**20 + 1), coding="") as client:
        with pytest.raises(MalformedError, match=r"^the response is larger than 1 MiB$"):
            await client.page(KIND, "v1", "", 10)
