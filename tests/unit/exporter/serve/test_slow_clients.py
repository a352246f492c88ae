"""Ten thousand clients that are slow, against the server in a process of its own, and scrapes meanwhile."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from ....tls_clients import Mounted, hello, silent

pytestmark = pytest.mark.long

CLIENTS, DESCRIPTORS = 10_000, 1024
KINDS = 20  # of so many clients in a row one sends half a head, and one asks and reads nothing
HELLO = hello()
ELSEWHERE = "127.0.0.2"  # the address that they come from
MIB = 300  # of memory that the server may take at most


@pytest.fixture
def descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, CLIENTS + 2000)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@asynccontextmanager
async def serving(mounted: Mounted) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    command = (sys.executable, "-m", "tests.served_process", *map(str, mounted.files), str(DESCRIPTORS))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        yield process, int(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def slow(mounted: Mounted, port: int, at: int) -> socket.socket | asyncio.StreamWriter:
    """The client of this number: silent, in the middle of its handshake or of a request, or it does not read."""
    kind = at % KINDS
    if kind < KINDS - 2:
        return await silent(port, (b"", HELLO[:100], HELLO)[at % 3], ELSEWHERE)
    client = socket.socket()
    client.bind((ELSEWHERE, 0))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
    _, writer = await asyncio.open_connection(sock=client, ssl=mounted.trusts, server_hostname="127.0.0.1")
    assert isinstance(writer.transport, asyncio.Transport)
    writer.transport.pause_reading()
    writer.write(b"GET /api/v1/findings HTTP/1.1\r\nHost: a\r\n" + (b"" if kind == KINDS - 2 else b"\r\n"))
    return writer


async def closed(clients: list[socket.socket | asyncio.StreamWriter]) -> None:
    """Without a goodbye, for which those that do not read would wait."""
    writers = [each for each in clients if isinstance(each, asyncio.StreamWriter)]
    for each in clients:
        if isinstance(each, asyncio.StreamWriter):
            each.transport.abort()
        else:
            each.close()
    await asyncio.gather(*(each.wait_closed() for each in writers), return_exceptions=True)


async def test_ten_thousand_slow_clients_do_not_keep_a_scrape_out(tmp_path: Path, descriptors: None) -> None:
    mounted, took = Mounted(tmp_path), []
    async with serving(mounted) as (process, port), asyncio.timeout(300):

        async def scrape() -> None:
            began = time.monotonic()
            url = f"https://127.0.0.1:{port}/metrics"
            async with aiohttp.ClientSession() as http, http.get(url, ssl=mounted.trusts) as answer:
                assert answer.status == 200
                assert b"kubevirt_steward_ready 1" in await answer.read()
            took.append(time.monotonic() - began)

        async def scrape_all_the_time() -> None:
            while True:
                await scrape()

        scraping = asyncio.create_task(scrape_all_the_time())
        clients: list[socket.socket | asyncio.StreamWriter] = []
        for start in range(0, CLIENTS, 100):
            opened = await asyncio.gather(
                *(slow(mounted, port, at) for at in range(start, start + 100)), return_exceptions=True
            )
            clients += [each for each in opened if not isinstance(each, BaseException)]
            assert not scraping.done(), scraping.exception()
        during = len(took)
        for _ in range(5):
            await scrape()
        scraping.cancel()
        with suppress(asyncio.CancelledError):
            await scraping
        await closed(clients)
        output, _ = await process.communicate(b"")
    assert len(clients) > CLIENTS * 0.95
    assert during > 10
    assert max(took) < 10  # what Prometheus waits by default
    assert int(output) >> 10 < MIB
