"""/api/v1/features: what the cluster allows, who asks for it, and which feature gates are on; with an ETag."""

from __future__ import annotations

import asyncio

from aiohttp import web

from ...counts.features import FeatureUsage
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...views.features import Features, NoSuchFeatureError, selected, steps
from ..reports.result_cache import Shared, Versions
from ..server.query import names_in
from ..server.sending import json_answer, json_error


class FeaturesView:
    def __init__(self, engine: Engine, usage: FeatureUsage, versions: Versions, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._usage, self._instance = engine, usage, instance
        self._taken = Shared[None, Features](lambda: versions.everything)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With the parameter `feature` only those features, or those of a feature gate; with `unallowed` only what is
        asked for without being allowed.
        """
        try:
            names, wanted = names_in(request, "feature", "unallowed")
        except ValueError as error:
            return json_error(400, str(error))
        if set(wanted) - {"true", "false"} or len(wanted) > 1:
            return json_error(400, "unallowed is true or false")
        found = await self.take()
        try:
            found = selected(found, names, unallowed=wanted == ("true",))
        except NoSuchFeatureError as error:
            return json_error(404, str(error))
        return await json_answer(request, self._instance, found)

    async def take(self) -> Features:
        return await self._taken.get(None, self._take)

    async def _take(self) -> Features:
        for _ in self._usage.settle():
            await asyncio.sleep(0)
        engine = self._engine
        return await in_turns(steps(engine.cluster, self._usage, list(engine.findings()), engine.generation))
