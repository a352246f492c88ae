"""Puts an answer on the connection."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from .errors import ApiError
from .resources import Obj

JSON = {"Content-Type": "application/json"}

Answer = tuple[int, bytes] | AsyncGenerator[bytes]
"""HTTP status and the whole body, or the lines of a watch as they come."""


def encode(obj: Obj) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def refusal(err: ApiError) -> web.Response:
    return web.Response(status=err.code, body=err.body(), headers={"Content-Type": err.content_type} | err.headers)


async def send(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Sends an answer. An ApiError before the first line becomes the answer."""
    if isinstance(answer, tuple):
        status, body = answer
        return web.Response(status=status, body=body, headers=JSON)
    response = web.StreamResponse(headers=JSON)
    async with aclosing(answer):
        first = await anext(answer)
        response.enable_chunked_encoding()
        await response.prepare(request)
        if first:
            await response.write(first)
        async for line in answer:
            await response.write(line)
    return response
