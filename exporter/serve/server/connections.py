"""Connections to the server: how many there are, and how long one may be silent.

While there are too many, one gives way to a new one: a connection without a request in progress, or whose client does
not read its answer or send the body of its request, of the address that has most of them. So whoever opens connections
and is silent, or asks and reads nothing, can't keep a scrape out. Some connections are kept for the requests that are
answered always. Closing never waits for a client that does not read.

With TLS a connection counts from its first byte on, not only after its handshake, and the handshake is part of what has
to be there in time.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from aiohttp import web

from .rooms import NoPlaceError, outside

# What is answered where there is no request yet that could be answered.

IN_USE = "all connections are in use. Try again in some seconds"

LONGEST_HEAD = 1 << 16  # bytes; the parser has limits only for single headers and their number


def _answer(status: str, sentence: str, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", "Content-Type: text/plain; charset=utf-8", *headers, "Connection: close")
    return "\r\n".join((*lines, f"Content-Length: {len(sentence) + 1}", "", f"{sentence}\n")).encode()


FULL = _answer("503 Service Unavailable", IN_USE, "Retry-After: 5")
LONG = _answer(
    "431 Request Header Fields Too Large", f"the head of a request can have {LONGEST_HEAD} bytes; send fewer headers"
)


_HEAD = 10.0  # seconds in which the head of a request has to be there, after the handshake of TLS
_IDLE = 75.0  # seconds from an answer to the next request
_SEND_BUFFER = 1 << 18  # bytes
_WRITE_BUFFER = 1 << 16  # bytes beside it; asyncio's own limit is eight times that with TLS
_GOODBYE = 20.0  # seconds in which what was sent last has to be taken, and TLS ended
_END = b"\r\n\r\n"  # of a head
_KEPT = 16  # of so many connections one is kept for what is answered always


class Connections:
    """A protocol factory for a server: wraps what `make` makes. `context` gives that of TLS for the next connection."""

    def __init__(
        self, make: Callable[[], asyncio.Protocol], most: int, context: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self.make, self.context, self._most = make, context, most
        self._ordinary = most - max(1, most // _KEPT)  # may be at work
        self._open: dict[_Connection, str] = {}  # with the address of the client
        self._waits: dict[_Connection, float] = {}  # for a request, or for its client to read: since when
        self._by_transport: dict[asyncio.BaseTransport, _Connection] = {}  # as a request has it

    def __call__(self) -> asyncio.Protocol:
        return _Connection(self)

    @contextmanager
    def in_use(self, request: web.BaseRequest, *, always: bool) -> Iterator[bool]:
        """While a request is answered its connection is not idle. Whether it can be answered: what is not answered
        `always` leaves some connections to what is.
        """
        connection = self._by_transport.get(request.transport) if request.transport is not None else None
        if connection is None:
            yield True
            return
        has_place = always or self.has_place
        if has_place:
            self.goes_on(connection)
        connection.wait_for_answer()
        request[_CONNECTION] = connection
        try:
            yield has_place
        finally:
            if connection in self._open:
                self.waits(connection)
                connection.wait_for_request(request.content.is_eof())

    def __contains__(self, connection: _Connection) -> bool:
        return connection in self._open

    def admit(self, connection: _Connection) -> bool:
        if len(self._open) >= self._most:
            one = self._gives_way()
            if one is None:
                return False
            one.drop()
        peer = connection.transport.get_extra_info("peername")
        self._open[connection] = str(peer[0]) if peer else ""
        self.waits(connection)
        return True

    def _gives_way(self) -> _Connection | None:
        """Who has waited longest, of those that share their address with the most."""
        crowds = Counter(self._open.values())
        return min(self._waits, key=lambda each: (-crowds[self._open[each]], self._waits[each]), default=None)

    @property
    def has_place(self) -> bool:
        """Whether one more connection may be at work."""
        return len(self._open) - len(self._waits) < self._ordinary

    def waits(self, connection: _Connection) -> None:
        if connection in self._open:
            self._waits[connection] = asyncio.get_running_loop().time()

    def goes_on(self, connection: _Connection) -> None:
        self._waits.pop(connection, None)

    def serve(self, connection: _Connection, transport: asyncio.Transport) -> asyncio.Protocol:
        """The protocol of its requests, which come over this transport."""
        self._by_transport[transport] = connection
        return self.make()

    def forget(self, connection: _Connection) -> None:
        self._open.pop(connection, None)
        self.goes_on(connection)
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
        self._head: int | None = 0  # bytes of it that have come; None once it is there
        self._tail = b""  # its last ones, in which its end may begin
        self._answering = False
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
            self.transport.write(FULL)
            self.transport.close()
        else:
            self.transport.abort()  # a sentence would cost a handshake

    async def _secure(self, context: ssl.SSLContext) -> None:
        """From here on `data_received` and the like are of what is inside of TLS."""
        if self not in self._all:  # it gave way already: nothing would end a handshake that begins now
            return
        try:
            secured = await asyncio.get_running_loop().start_tls(
                self.transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=_HEAD,
                ssl_shutdown_timeout=_GOODBYE,
            )
        except OSError as error:  # no TLS, or none that both know; and whoever left or was too slow
            # Its traceback leads back to itself, and holds the buffers of TLS: a quarter of a megabyte until they are
            # collected, which is seldom.
            error.__traceback__, secured = None, None
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
        if self._inner is None or self.serving is None:
            self._early += data
        elif self._is_overlong(data):
            self.serving.write(LONG)
            self.serving.close()
        else:
            self._inner.data_received(data)

    def _is_overlong(self, data: bytes) -> bool:
        """Whether the head of the request is, with these bytes."""
        if self._head is None:
            return False
        end = (self._tail + data).find(_END)
        self._head += len(data) if end < 0 else end - len(self._tail) + len(_END)
        if self._head > LONGEST_HEAD:
            return True
        self._tail = (self._tail + data)[-len(_END) + 1 :]
        if end >= 0:
            self._head, self._tail = None, b""
        return False

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
        self._all.waits(self)
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._answering and self._all.has_place:
            self._all.goes_on(self)
        if self._inner is not None:
            self._inner.resume_writing()

    def wait_for_answer(self) -> None:
        self._answering = True
        self._head = None
        self._asking = True  # what comes meanwhile is the next request, or a body that nobody reads
        self._stop_timer()

    def wait_for_request(self, is_next: bool) -> None:
        """`is_next` unless there is more of a body, after which the connection is closed."""
        self._answering = self._asking = False
        self._head, self._tail = 0 if is_next else None, b""
        self._close_after(_IDLE)

    def drop(self) -> None:
        self._all.forget(self)
        self._stop_timer()
        self.transport.abort()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._all.waits(self)
        try:
            yield
            if not self._all.has_place:
                raise NoPlaceError
        finally:
            self._all.goes_on(self)

    def _close_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_CONNECTION = web.RequestKey("connection", _Connection)


def waiting(request: web.BaseRequest) -> AbstractContextManager[None]:
    """While the server waits for the client of a request, as for the rest of a body, its connection may give way to
    others. Raises NoPlaceError where there is no place for it afterwards.
    """
    connection = request.get(_CONNECTION)
    return connection.waiting() if connection is not None else nullcontext()


# The body of a request, within bounds of size and time. Whoever sends none of it takes no place of others.


async def body_of(request: web.BaseRequest, most: int, seconds: float) -> bytes:
    """All of it. Raises TimeoutError where it does not arrive in time, and ValueError where it has more than `most`
    bytes, of which no more are read; NoPlaceError where meanwhile others have taken all places.
    """
    body = bytearray()
    with waiting(request), outside(request):
        async with asyncio.timeout(seconds):
            async for part in request.content.iter_any():
                body += part
                if len(body) > most:
                    raise ValueError(f"the body is longer than {most} bytes")
    return bytes(body)
