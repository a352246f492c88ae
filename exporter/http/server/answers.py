"""JSON answers that are made as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import blake2b

import msgspec
from aiohttp import web

from ...store.text.visible import json_written_out
from .sending import matches, send, tagged, unchanged

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
