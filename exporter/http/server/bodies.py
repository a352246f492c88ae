"""The body of a request, within bounds of size and time. Whoever sends none of it takes no place of others."""

from __future__ import annotations

import asyncio

from aiohttp import web

from .connections import waiting
from .rooms import outside


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
