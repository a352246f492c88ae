"""Connections to the server: how many there are, and how long one may be silent.

A connection that has no request in progress gives way to a new one while there are too many: whoever opens connections
and is silent can't keep a scrape out. Closing never waits for a client that does not read.

With TLS a connection counts from its first byte on, not only after its handshake, and the handshake is part of what has
to be there in time.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Connections", "most_connections", "quiet_about_descriptors"]

log = logging.getLogger(__name__)

_HEAD = 10.0  # seconds in which the head of a request has to be there, after the handshake of TLS
_IDLE = 75.0  # seconds from an answer to the next request
_MOST = 256  # with TLS each one takes half a megabyte
_SEND_BUFFER = 1 << 18  # bytes
_WRITE_BUFFER = 1 << 16  # bytes beside it; asyncio's own limit is eight times that with TLS
_GOODBYE = 20.0  # seconds in which what was sent last has to be taken, and TLS ended
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n"
    b"Connection: close\r\nContent-Length: 54\r\n\r\nall connections are in use; try again in some seconds\n"
)
_EVERY = 60.0  # seconds between two log lines about descriptors


def most_connections() -> int:
    """A quarter of the descriptors: the watches, files and connections just accepted need some, too."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(4, min(_MOST, soft // 4))


class Connections:
    """A protocol factory for a server: wraps what `make` makes. `context` gives that of TLS for the next connection."""

    def __init__(
        self, make: Callable[[], asyncio.Protocol], most: int, context: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self.make, self.context, self._most = make, context, most
        self._open: set[_Connection] = set()
        self._idle: dict[_Connection, None] = {}  # the longest idle first
        self._by_transport: dict[asyncio.BaseTransport, _Connection] = {}  # as a request has it

    def __call__(self) -> asyncio.Protocol:
        return _Connection(self)

    @contextmanager
    def in_use(self, transport: asyncio.BaseTransport | None) -> Iterator[None]:
        """While a request of this connection is answered it is not idle."""
        connection = self._by_transport.get(transport) if transport is not None else None
        if connection is None:
            yield
            return
        self._idle.pop(connection, None)
        connection.wait_for_answer()
        try:
            yield
        finally:
            if connection in self._open:
                self._idle[connection] = None
                connection.wait_for_request()

    def __contains__(self, connection: _Connection) -> bool:
        return connection in self._open

    def admit(self, connection: _Connection) -> bool:
        if len(self._open) >= self._most:
            longest = next(iter(self._idle), None)
            if longest is None:
                return False
            longest.drop()
        self._open.add(connection)
        self._idle[connection] = None
        return True

    def serve(self, connection: _Connection, transport: asyncio.Transport) -> asyncio.Protocol:
        """The protocol of its requests, which come over this transport."""
        self._by_transport[transport] = connection
        return self.make()

    def forget(self, connection: _Connection) -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)
        if connection.serving is not None:
            self._by_transport.pop(connection.serving, None)

    def drop_all(self) -> None:
        for each in tuple(self._open):
            each.drop()


class _Connection(asyncio.Protocol):
    """Passes everything on to the protocol of one connection, and keeps the time."""

    transport: asyncio.Transport
    serving: asyncio.Transport | None = None  # that of TLS, where there is TLS

    def __init__(self, connections: Connections) -> None:
        self._all = connections
        self._inner: asyncio.Protocol | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asking = True  # the head of a request is on its way, or has to come now
        self._early = bytearray()  # what came with the end of the handshake
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if not self._all.admit(self):
            self._refuse()
            return
        # What nobody reads waits in the kernel as well, which would let it grow to megabytes for each connection.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._close_after(_HEAD)
        if self._all.context is None:
            self._serve(transport)
        else:
            self._handshake = asyncio.get_running_loop().create_task(self._secure(self._all.context()))

    def _refuse(self) -> None:
        if self._all.context is None:
            self.transport.write(_FULL)
            self.transport.close()
        else:
            self.transport.abort()  # a sentence would cost a handshake

    async def _secure(self, context: ssl.SSLContext) -> None:
        """From here on `data_received` and the like are of what is inside of TLS."""
        try:
            secured = await asyncio.get_running_loop().start_tls(
                self.transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=_HEAD,
                ssl_shutdown_timeout=_GOODBYE,
            )
        except OSError:  # no TLS, or none that both know; and whoever left or was too slow
            secured = None
        if secured is None or self not in self._all:
            self.drop()
            return
        self._serve(secured)
        early, self._early = bytes(self._early), bytearray()
        if early:
            self.data_received(early)

    def _serve(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(_WRITE_BUFFER)
        self.serving = transport
        self._inner = self._all.serve(self, transport)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self._asking:
            self._asking = True
            self._close_after(_HEAD)
        if self._inner is None:
            self._early += data
        else:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """The client is gone, or will send no more; the transport closes once all is sent, if that is ever read."""
        self._close_after(_HEAD)
        return self._inner.eof_received() if self._inner is not None else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._all.forget(self)
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def wait_for_answer(self) -> None:
        self._asking = True  # what comes meanwhile is the next request, or a body that nobody reads
        self._stop_timer()

    def wait_for_request(self) -> None:
        self._asking = False
        self._close_after(_IDLE)

    def drop(self) -> None:
        self._all.forget(self)
        self._stop_timer()
        self.transport.abort()

    def _close_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@contextmanager
def quiet_about_descriptors(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """While entered, that no connection can be accepted is logged once a minute, not at each of many tries."""
    before, last = loop.get_exception_handler(), -_EVERY

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        if "accept()" not in context.get("message", ""):
            (before or type(loop).default_exception_handler)(loop, context)
        elif time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            log.error("connections can't be accepted: why=%s descriptors=%d", context.get("exception"), soft)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
