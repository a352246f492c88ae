"""The body of a response, read within bounds: also one that a server compressed although nobody asked for it, and a
list in pages, which has to end.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import aiohttp

from .errors import MalformedError, UnreachableError

_PIECE = 2**18  # bytes that are decompressed at once
_EITHER = 47  # for zlib: a gzip or a zlib header
_MOST_OBJECTS = 1_000_000  # of one list, ten times as many as of the largest kind of a large fleet
_MOST_EMPTY = 10  # pages in a row without an object, of a list that goes on


class ListBounds:
    """What has come of one list. A list that does not end raises MalformedError before it takes all memory."""

    def __init__(self, of: str) -> None:
        """`of` is what is listed."""
        self._of, self._objects, self._empty, self._rest = of, 0, 0, ""

    def add(self, objects: int) -> None:
        """Takes in so many objects more."""
        self._objects += objects
        if self._objects > _MOST_OBJECTS:
            raise MalformedError(f"the list of {self._of} does not end: it has more than {_MOST_OBJECTS} objects")

    def add_page(self, objects: int, rest: str) -> None:
        """The same of a page; `rest` is its continue token, empty on the last one."""
        self.add(objects)
        self._empty = 0 if objects else self._empty + 1
        if rest and rest == self._rest:
            raise MalformedError(f"the list of {self._of} does not end: two pages have the same continue token")
        if rest and self._empty >= _MOST_EMPTY:
            why = f"{self._empty} pages in a row have a continue token and no object"
            raise MalformedError(f"the list of {self._of} does not end: {why}")
        self._rest = rest


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
