"""/api/v1/networks: IP usage and reclaimable addresses of each network; with an ETag."""

from __future__ import annotations

import asyncio

from aiohttp import web

from ...counts.addresses import AddressUsage
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...views.networks import Networks, steps
from ..reports.result_cache import Shared, Versions
from ..server.query import names_in
from ..server.sending import json_answer, json_error


class NetworksView:
    def __init__(self, engine: Engine, usage: AddressUsage, versions: Versions, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._usage, self._instance = engine, usage, instance
        self._taken = Shared[str, Networks](lambda: versions.everything)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With the parameter `network` only that one."""
        try:
            (names,) = names_in(request, "network")
        except ValueError as error:
            return json_error(400, str(error))
        if len(names) > 1:
            return json_error(400, f"network is given {len(names)} times; give one, or none for all")
        return await json_answer(request, self._instance, await self.take(*names))

    async def take(self, only: str = "") -> Networks:
        return await self._taken.get(only, lambda: self._take(only))

    async def _take(self, only: str) -> Networks:
        for _ in self._usage.settle():
            await asyncio.sleep(0)
        engine = self._engine
        return await in_turns(steps(engine.cluster, self._usage, list(engine.findings()), engine.generation, only))
