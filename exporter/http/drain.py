"""/api/v1/drain: preview of a drain, with an ETag; and its page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
from aiohttp import web

from ..engine.engine import Engine
from ..model.cluster import Change
from ..model.kinds.node import Node
from ..model.source import Source
from ..views.drain import KINDS, STAYS, TITLES, Drain, NoSuchNodeError, chosen, steps
from .api import json_error
from .rendering import page_of

__all__ = ["DrainPage", "DrainView"]

_ENCODE = msgspec.json.Encoder().encode
_RECORDS = frozenset(kind.record for kind in KINDS)


class DrainView:
    def __init__(self, engine: Engine, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._instance = engine, instance
        self._version = 0  # grows with every change of what is read here: most of them alter no finding
        engine.observe(self._changed)

    def _changed(self, change: Change) -> None:
        self._version += change.kind in _RECORDS

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The nodes are those of the parameter `node`; without one, all that are cordoned or tainted to be drained."""
        if unexpected := [key for key in request.query if key != "node"]:
            return json_error(400, f"{unexpected[0]!r} is no filter; there is: node")
        etag = f'"{self._instance}.{self._engine.generation}.{self._version}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        try:
            drain = await self.take(_names(request))
        except NoSuchNodeError as error:
            return json_error(404, str(error))
        return web.Response(body=_ENCODE(drain), content_type="application/json", headers={"ETag": etag})

    async def take(self, nodes: Iterable[str] = ()) -> Drain:
        """Of these nodes; of all that are cordoned or drained where none is named. Raises NoSuchNodeError."""
        engine, named = self._engine, list(nodes)
        source = engine.cluster.get(Source, "", Node.__name__)
        seen = source is not None and source.readable
        wanted = chosen(engine.cluster, named, cordoned=not named) if seen else []
        work = steps(engine.cluster, wanted, engine.findings(), engine.generation)
        while True:
            try:
                next(work)
            except StopIteration as end:
                drain: Drain = end.value
                return drain
            await asyncio.sleep(0)


class DrainPage:
    """/drain: the same as a page."""

    def __init__(self, view: DrainView, title: str) -> None:
        self._view, self._title = view, title

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            drain = await self._view.take(_names(request))
        except NoSuchNodeError as error:
            return web.Response(status=404, text=f"{error}\n")
        asked = ",".join(_names(request))
        return page_of("drain.html", title=self._title, drain=drain, asked=asked, titles=TITLES, stays=STAYS)


def _names(request: web.Request) -> list[str]:
    """The values of `node`, several of them separated by commas or given again."""
    return [name for value in request.query.getall("node", []) for name in value.split(",") if name]
