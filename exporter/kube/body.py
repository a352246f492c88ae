"""The body of a response, read within bounds: also one that a server compressed although nobody asked for it."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import aiohttp

from .errors import MalformedError, UnreachableError

__all__ = ["beginning", "pieces", "whole"]

_PIECE = 2**18  # bytes that are decompressed at once
_EITHER = 47  # for zlib: a gzip or a zlib header


async def whole(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body. Raises MalformedError for one of more than `most` bytes, and does not read it further."""
    body = await beginning(response, most + 1)
    if len(body) > most:
        raise MalformedError(f"the response is larger than {most // 2**20} MiB")
    return body


async def beginning(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The first bytes of the body, or all of it."""
    body = bytearray()
    async with aclosing(pieces(response)) as read:
        async for piece in read:
            body += piece[: most - len(body)]
            if len(body) == most:
                break
    return bytes(body)


async def pieces(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """The body as it comes, decompressed. Raises MalformedError; UnreachableError for one that is cut off."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding in ("", "identity"):
        async for piece in response.content.iter_any():
            yield piece
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise MalformedError(f"the response is compressed as {coding[:32]!r}, which was not asked for")
    inflate = zlib.decompressobj(_EITHER)
    async for piece in response.content.iter_any():
        for inflated in _inflated(inflate, piece):
            yield inflated
            await asyncio.sleep(0)  # little may become much
    if not inflate.eof:
        raise UnreachableError("the compressed response ends before it is complete")


def _inflated(inflate: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    rest, more = piece, True
    while more:
        try:
            inflated = inflate.decompress(rest, _PIECE)
        except zlib.error as error:
            raise MalformedError(f"the response can't be decompressed: {error}") from error
        if inflate.unused_data:
            raise MalformedError("the compressed response goes on behind its end")
        rest = inflate.unconsumed_tail
        more = bool(rest) or len(inflated) == _PIECE
        if inflated:
            yield inflated
