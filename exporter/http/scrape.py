"""/metrics: negotiates format and compression, and streams, so that a page of 100 MB needs the memory of one slice."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from aiohttp import web
from isal import isal_zlib
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest as text_of
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of

from ..metrics.exposition import Exposition
from ..metrics.telemetry import Scrapes

__all__ = ["Scrape", "accepts"]

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Scrape:
    def __init__(self, exposition: Exposition, registry: CollectorRegistry, scrapes: Scrapes) -> None:
        self._exposition, self._registry, self._scrapes = exposition, registry, scrapes

    async def handle(self, request: web.Request) -> web.StreamResponse:
        started, size = time.monotonic(), 0
        openmetrics = _wants_openmetrics(request.headers.get("Accept", ""))
        zipped = accepts(request.headers.get("Accept-Encoding", ""), "gzip") > 0
        response = web.StreamResponse(headers={"Content-Type": _OPENMETRICS if openmetrics else _TEXT})
        if zipped:
            response.headers["Content-Encoding"] = "gzip"
        await response.prepare(request)
        packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31) if zipped else None  # 31: with a gzip header
        async for part in self._parts(openmetrics):
            size += len(part)
            packed = packer.compress(part) if packer else part
            if packed:
                await response.write(packed)
        if packer:
            await response.write(packer.flush())
        await response.write_eof()
        self._scrapes.seconds, self._scrapes.size = time.monotonic() - started, size
        return response

    async def _parts(self, openmetrics: bool) -> AsyncIterator[bytes]:
        async for part in self._exposition.render():
            yield part
        if openmetrics:
            yield openmetrics_of(self._registry)  # type: ignore[no-untyped-call] # ends with # EOF
        else:
            yield text_of(self._registry)


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


def _wants_openmetrics(accept: str) -> bool:
    offered = accepts(accept, "application/openmetrics-text")
    return offered > 0 and offered >= max(accepts(accept, "text/plain"), accepts(accept, "*/*"))
