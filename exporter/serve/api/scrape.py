"""/metrics: negotiates the format, and streams, so that a page of 100 MB needs the memory of one slice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from itertools import islice

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest as text_of
from prometheus_client.openmetrics.exposition import ALLOWUTF8
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of
from prometheus_client.registry import Collector

from ...metrics.exposition import Exposition
from ...metrics.telemetry import Served
from ..server.sending import accepts, send

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_END = b"# EOF\n"
_FAMILIES = 10
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Scrape:
    def __init__(self, exposition: Exposition, registry: CollectorRegistry, served: Served) -> None:
        self._exposition, self._registry, self._served = exposition, registry, served

    async def handle(self, request: web.Request) -> web.StreamResponse:
        started = time.monotonic()
        openmetrics = _wants_openmetrics(request.headers.get("Accept", ""))
        size = 0

        async def counted() -> AsyncIterator[bytes]:
            nonlocal size
            async for part in self._parts(openmetrics):
                size += len(part)
                yield part

        response = await send(request, counted(), {"Content-Type": _OPENMETRICS if openmetrics else _TEXT})
        if request.method != "HEAD":
            self._served.seconds, self._served.size = time.monotonic() - started, size
        return response

    async def _parts(self, openmetrics: bool) -> AsyncIterator[bytes]:
        async for part in self._exposition.render():
            yield part
        families = iter(self._registry.collect())
        while some := _Families(islice(families, _FAMILIES)):
            # Whatever the scheme, no name of ours needs to be escaped: to look at each of its letters takes longer.
            yield openmetrics_of(some, ALLOWUTF8).removesuffix(_END) if openmetrics else text_of(some)  # type: ignore[no-untyped-call]
            await asyncio.sleep(0)
        if openmetrics:
            yield _END


class _Families(tuple[Metric, ...], Collector):
    """Some of those of a registry: all of them at once would keep others waiting."""

    def collect(self) -> Iterable[Metric]:
        return self


def _wants_openmetrics(accept: str) -> bool:
    offered = accepts(accept, "application/openmetrics-text")
    return offered > 0 and offered >= max(accepts(accept, "text/plain"), accepts(accept, "*/*"))
