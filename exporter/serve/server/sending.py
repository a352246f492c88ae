"""How answers are sent: in parts, the next one when the client has taken most of the last, compressed if it wants that.

So an answer that nobody reads takes the memory of one part, and is broken off when nothing is read for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b

import msgspec
from aiohttp import web
from isal import isal_zlib

from ...facts.naming import json_written_out

_PATIENCE = 20.0  # seconds in which a client has to take a part
_LONGEST = 300.0  # seconds for a whole answer
_GZIP = 31  # window bits, with a gzip header


async def send(
    request: web.Request,
    parts: AsyncIterator[bytes],
    headers: Mapping[str, str],
    length: int | None = None,
    status: int = 200,
) -> web.StreamResponse:
    """`length` is that of all parts, where it is known. For HEAD no part is asked for."""
    response = web.StreamResponse(status=status, headers={"Vary": "Accept-Encoding", **headers})
    zipped = wants_gzip(request)
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    elif length is not None:
        response.content_length = length
    with broken_off(request):
        async with asyncio.timeout(_LONGEST):
            await response.prepare(request)
            if request.method != "HEAD":
                async for part in _packed(parts) if zipped else parts:
                    await _write(response, part)
            await _finish(response)
    return response


async def _write(response: web.StreamResponse, part: bytes) -> None:
    view = memoryview(part)
    for start in range(0, len(view), _PART):
        async with asyncio.timeout(_PATIENCE):
            await response.write(view[start : start + _PART])


async def _finish(response: web.StreamResponse) -> None:
    async with asyncio.timeout(_PATIENCE):
        await response.write_eof()


async def finish(request: web.Request, response: web.StreamResponse) -> None:
    """Sends what is not sent yet."""
    with broken_off(request):
        async with asyncio.timeout(_PATIENCE):
            await response.prepare(request)
            await response.write_eof()


@contextmanager
def broken_off(request: web.Request) -> Iterator[None]:
    """A client that is gone or does not read is no error: its connection is dropped, with what it has not read."""
    try:
        yield
    except (TimeoutError, ConnectionError):
        if request.transport is not None:
            request.transport.abort()


async def _packed(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, _GZIP)
    async for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


# -- what the client's headers say


def wants_gzip(request: web.BaseRequest) -> bool:
    header = ",".join(request.headers.getall("Accept-Encoding", []))
    return accepts(header, "gzip") > 0 and accepts(header, "gzip") >= accepts(header, "identity")


def accepts(header: str, wanted: str) -> float:
    """The weight of one value in an Accept or Accept-Encoding header; 0 if it is not there."""
    for part in header.split(","):
        value, *parameters = (piece.strip() for piece in part.split(";"))
        if value.lower() == wanted:
            weights = [p[2:] for p in parameters if p.lower().startswith("q=")]
            try:
                return float(weights[0]) if weights else 1.0
            except ValueError:
                return 0.0
    return 0.0


def matches(request: web.BaseRequest, etag: str) -> bool:
    """Whether If-None-Match names it: alone, in a list, weak, or as any."""
    known = ",".join(request.headers.getall("If-None-Match", []))
    return known.strip() == "*" or etag in known_tags(request)


def known_tags(request: web.BaseRequest) -> list[str]:
    given = ",".join(request.headers.getall("If-None-Match", [])).split('"')
    return [f'"{each}"' for each in given[1::2]]


def tagged(request: web.BaseRequest, etag: str) -> str:
    """The tag of the variant that this client gets."""
    return f'"{etag}-gzip"' if wants_gzip(request) else f'"{etag}"'


def unchanged(etag: str) -> web.Response:
    return web.Response(status=304, headers={"ETag": etag, "Vary": "Accept-Encoding"})


# JSON answers that are made as a whole.

_RETRY_AFTER = 5  # seconds
_PART = 1 << 16  # bytes
_ENCODE = msgspec.json.Encoder().encode


def as_json(value: object) -> bytes:
    """As JSON, in which nothing controls the terminal that it is printed to."""
    body = _ENCODE(value)
    return body if body.isascii() and b"\x7f" not in body else json_written_out(body.decode()).encode()


async def json_answer(request: web.Request, instance: str, value: object) -> web.StreamResponse:
    """With an ETag of all that is in it; `instance` is the ID of this run of the steward."""
    body = as_json(value)
    etag = tagged(request, f"{instance}.{blake2b(body, digest_size=8).hexdigest()}")
    if matches(request, etag):
        return unchanged(etag)
    return await send(request, _whole(body), {"Content-Type": "application/json", "ETag": etag}, len(body))


async def _whole(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PART):
        yield body[start : start + _PART]


def json_error(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)


def error(request: web.BaseRequest, status: int, sentence: str) -> web.Response:
    """In the form of the route: JSON below /api/, else text."""
    return json_error(status, sentence) if request.path.startswith("/api/") else as_text(status, sentence)


def as_text(status: int, sentence: str) -> web.Response:
    return web.Response(status=status, text=f"{sentence}\n")


def later(request: web.BaseRequest, status: int, sentence: str) -> web.Response:
    response = error(request, status, sentence)
    response.headers["Retry-After"] = str(_RETRY_AFTER)
    return response
