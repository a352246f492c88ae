"""A request that must not leave late: with a moment after which its body is not sent any more.

A server carries out nothing whose body is not all there. So the moment is looked at right before the body is given to
the kernel, when the connection is there. What the kernel then has of it leaves at once or never: it drops the
connection if a part of it is not acknowledged in time (TCP_USER_TIMEOUT, tcp(7)), and what has not left when we drop
the connection or die (SO_LINGER of 0, socket(7)). What a proxy or the server's kernel has acknowledged is out of our
hands.

Nor is it sent twice: aiohttp sends a DELETE and a PUT again where the connection breaks without a response, and the
answer to the second one says nothing of the first.

A connection that ends with its request ends at once: a frozen server would never answer a TLS shutdown, and asyncio
keeps the socket for as long as it waits for that.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import aiohttp

from .clocks import boottime
from .errors import UnreachableError

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.connector import Connection

_AT_ONCE = struct.pack("ii", 1, 0)
_USER_TIMEOUT = getattr(socket, "TCP_USER_TIMEOUT", None)  # of Linux


class LateError(UnreachableError):
    """The time in which a request had to be sent was over: nothing of its body was sent."""


class Sending:
    """`by` is when it must have left, by `boottime`; `begun` is whether any of it may have."""

    def __init__(self, by: float) -> None:
        self.by, self.begun = by, False


class Used:
    """The connections that a request was sent over: another one where the first broke."""

    def __init__(self) -> None:
        self._transports: list[asyncio.Transport] = []

    def add(self, transport: asyncio.Transport | None) -> None:
        if transport is not None:
            self._transports.append(transport)

    def end(self) -> None:
        """Ends at once those that are ending; the others wait for the next request."""
        for transport in self._transports:
            if transport.is_closing():
                transport.abort()


class _Sent(NamedTuple):
    sending: Sending | None
    used: Used


_SENT: ContextVar[_Sent | None] = ContextVar("sent", default=None)


@contextmanager
def sent_as(sending: Sending | None, used: Used) -> Iterator[None]:
    """The request that is sent meanwhile is this one, and `used` gets its connections."""
    before = _SENT.set(_Sent(sending, used))
    try:
        yield
    finally:
        _SENT.reset(before)


class DatedRequest(aiohttp.ClientRequest):
    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        if (sent := _SENT.get()) is not None:
            sent.used.add(conn.transport)
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        sent = _SENT.get()
        sending = sent.sending if sent is not None else None
        if sending is not None:
            left = sending.by - boottime()
            if sending.begun:
                _end(conn, UnreachableError("the connection broke after it was sent, and it is sent once"))
                return
            if left <= 0:
                _end(conn, LateError(f"it could not be sent in time, but {-left:.1f} s later"))
                return
            sending.begun = True
            _leave_at_once(conn, left)
        await super().write_bytes(writer, conn, content_length)


def _end(conn: Connection, error: UnreachableError) -> None:
    if conn.protocol is not None:
        conn.protocol.set_exception(error)
    conn.close()


def _leave_at_once(conn: Connection, seconds: float) -> None:
    found = conn.transport.get_extra_info("socket") if conn.transport is not None else None
    if conn.protocol is not None:
        conn.protocol.force_close()  # what is set here is for this request alone
    if found is None:
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    if _USER_TIMEOUT is not None:
        found.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, max(1, int(seconds * 1000)))
