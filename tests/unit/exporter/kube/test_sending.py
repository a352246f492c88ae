"""A request that must not leave late: none of it leaves after its time, nor when who sent it gives up or dies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.kube.clocks import boottime
from exporter.kube.errors import UnreachableError
from exporter.kube.sending import LateError, Sending
from exporter.kube.transport import Transport
from tests.fakeapi.apiserver import FakeApiServer
from tests.secure_server import config as kubeconfig

PATH = "/api/v1/namespaces/ns/events"
BODY = {"text": "x" * 60_000}  # the kernel takes it, and a peer that does not read has room for less


class Deaf:
    """A server that accepts a connection and reads nothing until it is told to."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self._listens = threading.Event()
        self.heard = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            self._listens.wait(30)
            with contextlib.suppress(ConnectionError):
                while more := connection.recv(65536):
                    self.heard += more

    def hear(self) -> bytes:
        """All that came by now, and still comes."""
        self._listens.set()
        self._thread.join(30)
        return self.heard

    def close(self) -> None:
        self._listens.set()
        self._listener.close()


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    server = Deaf()
    yield server
    server.close()


async def test_nothing_of_it_is_sent_when_its_time_is_over(tmp_path: Path) -> None:
    server = FakeApiServer()
    await server.start()
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", server.url))
    sending = Sending(boottime() - 1)
    try:
        with pytest.raises(LateError, match=r"could not be sent in time, but 1\.\d s later"):
            async with transport.open("POST", PATH, read_seconds=5, body={"kind": "Event"}, sending=sending):
                pass
        assert not sending.begun
        assert not server.requests
    finally:
        await transport.close()
        await server.stop()


async def test_where_nobody_listens_nothing_was_sent(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        transport = Transport.from_environment(kubeconfig(tmp_path / "k", f"http://127.0.0.1:{free.getsockname()[1]}"))
        sending = Sending(boottime() + 5)
        with pytest.raises(UnreachableError):
            async with transport.open("POST", PATH, read_seconds=5, body={}, sending=sending):
                pass
    await transport.close()
    assert not sending.begun


async def test_what_waits_in_the_kernel_is_dropped_with_its_connection(tmp_path: Path, deaf: Deaf) -> None:
    """Else the kernel goes on sending it, for minutes after its sender is gone."""
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", deaf.url))
    sending = Sending(boottime() + 5)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1), transport.open("POST", PATH, read_seconds=5, body=BODY, sending=sending):
            pass
    await transport.close()

    assert sending.begun
    assert len(await asyncio.to_thread(deaf.hear)) < 60_000


async def test_what_the_peer_does_not_take_is_dropped_by_the_kernel_itself(tmp_path: Path, deaf: Deaf) -> None:
    """Whoever sent it stands still, or waits for an answer: nothing is closed."""
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", deaf.url))
    sending = Sending(boottime() + 1)
    with pytest.raises(UnreachableError):
        async with transport.open("POST", PATH, read_seconds=30, body=BODY, sending=sending):
            pass
    await transport.close()
    assert len(await asyncio.to_thread(deaf.hear)) < 60_000


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "POST"])
async def test_it_is_sent_once_where_the_connection_breaks_without_an_answer(tmp_path: Path, method: str) -> None:
    """What a second one is answered with, such as a conflict with the first, says nothing of the first."""
    came: list[bytes] = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(await reader.readuntil(b"}"))
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", url))
    sending = Sending(boottime() + 5)
    with pytest.raises(UnreachableError):
        async with transport.open(method, PATH, read_seconds=5, body={"a": 1}, sending=sending):
            pass
    await transport.close()
    server.close()

    assert sending.begun
    assert len(came) == 1
