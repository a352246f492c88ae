"""/api/v1/networks: IP usage and reclaimable addresses of each network; with an ETag."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web

from ..address_usage import AddressUsage
from ..engine.engine import Engine
from ..views.networks import Networks, take
from .api import json_error

__all__ = ["NetworksView"]

_ENCODE = msgspec.json.Encoder().encode


class NetworksView:
    def __init__(self, engine: Engine, usage: AddressUsage, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._usage, self._instance = engine, usage, instance

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With the parameter `network` only that one."""
        if unexpected := [key for key in request.query if key != "network"]:
            return json_error(400, f"{unexpected[0]!r} is no filter; there is: network")
        networks = await self.take(request.query.get("network", ""))
        etag = f'"{self._instance}.{self._engine.generation}.{self._usage.version}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        return web.Response(body=_ENCODE(networks), content_type="application/json", headers={"ETag": etag})

    async def take(self, only: str = "") -> Networks:
        for _ in self._usage.settle():
            await asyncio.sleep(0)
        engine = self._engine
        return take(engine.cluster, self._usage, engine.findings(), engine.generation, only)
