"""What one client can't do to the others: hold the memory, the connections, the log or the event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import resource
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web

from exporter.serve import application, routes
from exporter.serve.reports.result_cache import Shared
from exporter.serve.server import connections, rooms, sending

from ....rows import full
from ....served import Served, established, served


def resident() -> int:
    """MiB of memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


def limited(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    for module in (routes, application):
        monkeypatch.setattr(module, "most_connections", lambda: most)


async def unread(made: Served, request: str) -> socket.socket:
    """Asks, and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", made.port))
    await loop.sock_sendall(client, f"GET {request} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client


async def ends(reader: asyncio.StreamReader) -> None:
    """Returns once the server has closed the connection, without another byte."""
    with suppress(ConnectionError):
        assert await reader.read() == b""


# -- long polls


async def test_long_polls_that_nobody_reads_share_one_report_and_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PATIENCE", 2.0)
    async with served(5000) as made, asyncio.timeout(60):
        size = len((await made.get("/api/v1/findings"))[2])
        waiting = [
            await unread(made, f"/api/v1/findings?wait=50&generation={made.engine.generation}") for _ in range(60)
        ]
        assert (await made.get("/healthz"))[0] == 200  # all of them have arrived before it
        before = resident()
        made.see("another")
        await made.notify()
        assert (await made.get("/healthz"))[0] == 200
        assert len((await made.get("/api/v1/findings"))[2]) > 2 * size - 10_000 > 5_000_000
        assert resident() - before < 100
        await asyncio.gather(*(asyncio.wait_for(gone(made, each), 30) for each in waiting[:3]))
        for each in waiting:
            each.close()


async def gone(made: Served, client: socket.socket) -> None:
    """Until the server has dropped it, seen from the kernel's side: nothing is read from it."""
    me = client.getsockname()[1]
    while any(peer.endswith(f":{me:04X}") for peer in established(made.port)):
        assert (await made.get("/healthz"))[0] == 200


async def test_no_more_wait_than_half_of_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 8)
    async with served() as made, asyncio.timeout(30):
        poll = f"/api/v1/findings?wait=50&generation={made.engine.generation}"
        waiting = [await unread(made, poll) for _ in range(4)]
        status, headers, body = await made.get(poll)
        assert (status, headers["Retry-After"]) == (503, "5")
        assert body == b'{"error": "too many requests wait for a change already, and no more can; ask without wait"}'
        assert (await made.get("/api/v1/findings"))[0] == 200

        waiting.pop().close()  # a client that is gone waits no more
        waiting[0].shutdown(socket.SHUT_WR)
        statuses: list[int] = []
        while statuses[-2:] != [200, 200]:
            answers = await asyncio.gather(*(made.get(poll.replace("50", "0.1")) for _ in range(2)))
            statuses = [status for status, _, _ in answers]
        for each in waiting:
            each.close()


async def test_what_many_ask_for_is_made_once_and_little_of_it_is_kept() -> None:
    made: list[int] = []
    version = 1

    async def make(key: int) -> bytes:
        made.append(key)
        await asyncio.sleep(0)
        return bytes(key)

    shared = Shared[int, bytes](lambda: version, len)
    assert await asyncio.gather(*(shared.get(1, lambda: make(1)) for _ in range(50))) == [b"\0"] * 50
    assert made == [1]
    for key in range(100):
        await shared.get(key, lambda key=key: make(key))  # type: ignore[misc]
    made.clear()
    await shared.get(99, lambda: make(99))
    await shared.get(1, lambda: make(1))
    assert made == [1]
    for size in (20 << 20, 21 << 20):  # both are too much together
        await shared.get(size, lambda size=size: make(size))  # type: ignore[misc]
    made.clear()
    await shared.get(21 << 20, lambda: make(21 << 20))
    await shared.get(99, lambda: make(99))
    version = 2
    await shared.get(99, lambda: make(99))
    assert made == [99, 99]


# -- connections


@pytest.mark.parametrize("sent", ["", "GET /", "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: "])
async def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    monkeypatch.setattr(connections, "_HEAD", 0.3)
    async with served() as made, asyncio.timeout(10):
        reader, writer = await made.connect()
        writer.write(sent.encode())
        ending = asyncio.create_task(ends(reader))
        while not ending.done():  # a byte now and then is no request either
            writer.write(b"a" if sent else b"")
            await asyncio.wait((ending,), timeout=0.05)
        await ending
        writer.close()


async def test_a_slow_second_request_and_an_idle_connection_end(monkeypatch: pytest.MonkeyPatch) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with served() as made, asyncio.timeout(10):
        reader, writer = await made.connect()
        writer.write(request + request)  # pipelined
        for _ in range(2):
            assert b"200 OK" in await reader.readuntil(b"ok\n")
        monkeypatch.setattr(connections, "_HEAD", 0.2)
        writer.write(request[:9])
        await ends(reader)
        writer.close()

        monkeypatch.setattr(connections, "_HEAD", 10.0)
        monkeypatch.setattr(connections, "_IDLE", 0.2)
        reader, writer = await made.connect()
        writer.write(request)
        assert b"200 OK" in await reader.readuntil(b"ok\n")
        await ends(reader)
        writer.close()


async def test_idle_connections_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 8)
    async with served() as made, asyncio.timeout(30):
        idle = [await made.connect() for _ in range(50)]
        for path in ("/metrics", "/readyz", "/"):
            assert (await made.get(path))[0] in (200, 503)
        assert len(established(made.port)) <= 8
        await ends(idle[0][0])
        for _, writer in idle:
            writer.close()


async def test_while_connections_are_in_use_some_are_kept_for_health_and_the_scrape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited(monkeypatch, 4)
    monkeypatch.setattr(routes, "most_connections", lambda: 100)
    async with served() as made, asyncio.timeout(30):
        poll = f"/api/v1/findings?wait=50&generation={made.engine.generation}"
        waiting = []
        for _ in range(5):
            waiting.append(await unread(made, poll))
            for _ in range(20):  # turns of the loop, in which its request arrives
                await asyncio.sleep(0)
            for path in ("/healthz", "/metrics"):
                assert (await made.get(path))[0] == 200
        status, headers, body = await made.get(poll)
        assert (status, headers["Retry-After"]) == (503, "5")
        assert body == b'{"error": "all connections are in use. Try again in some seconds"}'
        for each in waiting:
            each.close()
        while (await made.get(poll.replace("50", "0")))[0] != 200:
            pass


async def test_while_all_connections_are_in_use_a_new_one_is_answered_in_a_sentence() -> None:
    async def slow(_: web.Request) -> web.StreamResponse:
        began.release()
        await ends.wait()
        return web.Response()

    began, ends = asyncio.Semaphore(0), asyncio.Event()
    runner = web.AppRunner(application.application({"/metrics": slow}, lambda: ""))
    await runner.setup()
    assert runner.server is not None
    made = connections.Connections(runner.server, 2)
    runner.app[application._CONNECTIONS][:] = [made]
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(30):
        asking = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in asking:
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await began.acquire()
        reader, refused = await asyncio.open_connection("127.0.0.1", port)
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert answer.endswith(b"\r\n\r\nall connections are in use. Try again in some seconds\n")
    assert b"Content-Length: 54\r\n" in answer
    ends.set()
    for writer in (refused, *(writer for _, writer in asking)):
        writer.close()
    server.close()
    await runner.cleanup()


def test_connections_leave_most_descriptors_to_others() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for soft_limit, most in ((128, 32), (512, 128), (1024, 256), (4096, 256)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard))
            assert rooms.most_connections() == most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_that_descriptors_ran_out_is_one_log_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    heard = asyncio.Event()

    def emit(record: logging.LogRecord) -> None:
        caplog.records.append(record)
        heard.set()

    monkeypatch.setattr(caplog.handler, "emit", emit)
    async with served() as made, asyncio.timeout(30):
        clients = [socket.socket() for _ in range(20)]
        assert (await made.get("/healthz"))[0] == 200
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(each.fileno() for each in clients) + 1, hard))
            for each in clients:
                each.setblocking(False)
                await asyncio.get_running_loop().sock_connect(each, ("127.0.0.1", made.port))
            await heard.wait()
            for _ in range(5):  # turns of the loop: all tries of this one are over
                await asyncio.sleep(0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await made.get("/healthz"))[0] == 200
        for each in clients:
            each.close()
        # Before it is closed: asyncio still has tries to listen again, and complains that there is no server.
        records = list(caplog.records)
    (record,) = records
    assert "connections can't be accepted: why=[Errno 24] Too many open files descriptors=" in record.getMessage()
    assert record.exc_info is None


@pytest.mark.parametrize(
    "garbage",
    [
        "\x16\x03\x01\x02\x00\x01\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET /" + "a" * 9000 + " HTTP/1.1\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n" + "A: b\r\n" * 300 + "\r\n",
    ],
)
async def test_what_is_no_http_is_refused_and_not_logged(caplog: pytest.LogCaptureFixture, garbage: str) -> None:
    caplog.set_level(logging.INFO)
    async with served() as made, asyncio.timeout(20):
        status, _, body = await made.raw(garbage)
    assert status == 400
    assert len(body) < 1000
    assert not caplog.records


@pytest.mark.parametrize("size", [17, 1000, 200_000])
async def test_the_head_of_a_request_has_a_limit_in_any_pieces(size: int) -> None:
    head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"A{each}: {'b' * 6000}\r\n" for each in range(10))
    answers = []
    async with served() as made, asyncio.timeout(30):
        reader, writer = await made.connect()
        for length in (65_536, 65_537):
            request = f"{head}B: {'b' * (length - len(head) - 7)}\r\n\r\n"
            for start in range(0, length, size):
                writer.write(request[start : start + size].encode())
                await asyncio.sleep(0)
            answer = await reader.readuntil(b"\r\n\r\n")
            found = re.search(rb"Content-Length: ([0-9]+)", answer)
            assert found is not None
            answers.append((int(answer.split()[1]), await reader.readexactly(int(found[1]))))
        await ends(reader)
        writer.close()
    assert answers == [(200, b"ok\n"), (431, b"the head of a request can have 65536 bytes; send fewer headers\n")]


async def test_a_body_longer_than_a_head_is_no_long_head() -> None:
    async with served() as made, asyncio.timeout(20):
        status, _, _ = await made.raw(
            f"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n{'b' * 500_000}"
        )
    assert status == 405


async def test_a_body_is_not_waited_for() -> None:
    async with served() as made, asyncio.timeout(20):
        status, _, body = await made.get("/healthz", Content_Length="1000000000")
    assert (status, body) == (200, b"ok\n")


# -- the event loop


async def longest_hold(made: Served, path: str, status: int = 200, **headers: str) -> float:
    """Seconds of processor time of the longest turn of the loop while a request is answered."""
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)

    beating = asyncio.create_task(beat())
    assert (await made.get(path, **headers))[0] == status
    beating.cancel()
    return longest


async def test_no_answer_holds_the_loop() -> None:
    async with served(20_000) as made:
        paths = (
            "/",
            "/findings?page=2",
            "/findings?severity=warning",
            "/api/v1/findings",
            "/api/v1/networks",
            "/drain",
            "/api/v1/drain",
            "/metrics",
        )
        for path in paths:
            for coding in ("gzip", "identity"):
                assert await longest_hold(made, path, Accept_Encoding=coding) < 0.1, path


async def test_a_wrong_name_among_many_nodes_does_not_hold_the_loop() -> None:
    async with served() as made:
        for at in range(5000):
            made.evaluation.seen(full({"kind": "Node", "name": f"node-{at:05}.example.org"}))
        assert await longest_hold(made, "/api/v1/drain", 200) < 0.1  # the nodes are sorted in once
        assert await longest_hold(made, f"/api/v1/drain?node={'node-1' * 42}", 404) < 0.1
        _, _, body = await made.get("/api/v1/drain?node=node-0123.example.org")
    assert b"did you mean node-012" in body


# -- the page


async def test_the_page_writes_out_what_is_invisible_or_turns_the_direction() -> None:
    async with served() as made:
        made.evaluation.seen(full({"kind": "Node", "name": "a\u202eb\u200b\x1b[31m"}))
        status, _, body = await made.get("/drain?node=a%E2%80%AEb%E2%80%8B%1B[31m")
    text = body.decode()
    assert status == 200
    assert not re.search("[\u202a-\u202e\u200b\x1b]", text)
    assert ">a\\u202eb\\u200b\\u001b[31m</a></h2>" in text
