"""Puts an answer on the connection, with what a fault does to it on the way."""

import asyncio
from contextlib import aclosing

from aiohttp import web

from demo.apiserver.wire import JSON, Answer

from .faults import Fault

__all__ = ["send"]


async def send(request: web.BaseRequest, answer: Answer, fault: Fault) -> web.StreamResponse:
    """As `demo.apiserver.wire.send`. Raises ConnectionResetError where the fault cuts the connection."""
    faulty = _FaultyWire(request, fault)
    if isinstance(answer, tuple):
        status, body = answer
        await faulty.open(status)
        await faulty.write(body)
        return faulty.response
    async with aclosing(answer):
        first = await anext(answer)
        await faulty.open(200)
        await faulty.write_line(first)
        async for line in answer:
            await faulty.write_line(line)
    return faulty.response


class _FaultyWire:
    """One answer in the making."""

    def __init__(self, request: web.BaseRequest, fault: Fault) -> None:
        self.response = web.StreamResponse(headers=JSON)
        self._request = request
        self._fault = fault
        self._left = fault.cut_after

    async def open(self, status: int) -> None:
        self.response.set_status(status)
        self.response.enable_chunked_encoding()
        await self.response.prepare(self._request)
        if self._fault.frozen:
            await asyncio.Event().wait()  # until the connection or the server ends

    async def write_line(self, line: bytes) -> None:
        for sent in self._fault.rewrite(line) if self._fault.rewrite and line else (line,):
            await self.write(sent)

    async def write(self, data: bytes) -> None:
        if self._left is None:
            await self._put(data)
            return
        data, whole = data[: self._left], data
        self._left -= len(data)
        await self._put(data)
        if len(data) < len(whole) or not self._left:
            self._cut()

    async def _put(self, data: bytes) -> None:
        if self._fault.drip is None:
            if data:
                await self.response.write(data)
            return
        for i in range(len(data)):
            await self.response.write(data[i : i + 1])
            await asyncio.sleep(self._fault.drip)

    def _cut(self) -> None:
        """Closes the connection where it stands; what was written still goes out."""
        if self._request.transport is not None:
            self._request.transport.close()
        raise ConnectionResetError("cut by a fault")
