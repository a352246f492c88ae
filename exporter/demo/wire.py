"""Puts an answer on the connection, with whatever a fault does to it on the way."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from .errors import ApiError
from .faults import Fault
from .resources import Obj

JSON = {"Content-Type": "application/json"}


def encode(obj: Obj) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def refusal(err: ApiError) -> web.Response:
    return web.Response(status=err.code, body=err.body(), headers={"Content-Type": err.content_type} | err.headers)


async def send(request: web.BaseRequest, status: int, body: bytes, fault: Fault | None) -> web.StreamResponse:
    """Sends a whole answer."""
    if fault is None:
        return web.Response(status=status, body=body, headers=JSON)
    wire = _Wire(request, fault)
    await wire.open(status)
    await wire.write(body)
    return wire.response


async def stream(request: web.BaseRequest, lines: AsyncGenerator[bytes], fault: Fault | None) -> web.StreamResponse:
    """Sends lines as they come. An ApiError before the first one becomes the answer."""
    wire = _Wire(request, fault)
    async with aclosing(lines):
        first = await anext(lines)
        await wire.open(200)
        for line in wire.rewritten(first):
            await wire.write(line)
        async for line in lines:
            for sent in wire.rewritten(line):
                await wire.write(sent)
    return wire.response


class _Wire:
    """One answer in the making."""

    def __init__(self, request: web.BaseRequest, fault: Fault | None) -> None:
        self.response = web.StreamResponse(headers=JSON)
        self._request = request
        self._fault = fault
        self._left = fault.cut_after if fault else None

    async def open(self, status: int) -> None:
        self.response.set_status(status)
        self.response.enable_chunked_encoding()
        await self.response.prepare(self._request)
        if self._fault and self._fault.frozen:
            await asyncio.Event().wait()  # until the connection or the server ends

    def rewritten(self, line: bytes) -> list[bytes]:
        if self._fault is None or self._fault.rewrite is None or not line:
            return [line]
        return self._fault.rewrite(line)

    async def write(self, data: bytes) -> None:
        if self._left is not None:
            data, whole = data[: self._left], data
            self._left -= len(data)
            await self._put(data)
            if len(data) < len(whole) or not self._left:
                self._cut()
        else:
            await self._put(data)

    async def _put(self, data: bytes) -> None:
        delay = self._fault.drip if self._fault else None
        if delay is None:
            if data:
                await self.response.write(data)
            return
        for i in range(len(data)):
            await self.response.write(data[i : i + 1])
            await asyncio.sleep(delay)

    def _cut(self) -> None:
        """Closes the connection where it stands; what was written still goes out."""
        if self._request.transport is not None:
            self._request.transport.close()
        raise ConnectionResetError("cut by a fault")
