"""/api/v1/findings: the report as JSON, with filters, an ETag, and long polling by generation."""

from __future__ import annotations

import asyncio
from functools import partial

from aiohttp import web

from ...engine.engine import Engine
from ..access.viewer import visible_to
from ..reports.listing import Listing, Listings
from ..server.answers import json_error
from ..server.query import Parameters
from ..server.rooms import SharedPlaces, owner_of
from ..server.sending import known_tags, matches, send, tagged, unchanged

__all__ = ["Findings"]

_RETRY_AFTER = 5  # seconds
_LOOK_AGAIN = 1.0  # seconds
_SHARE = 16  # of all that may wait so small a part may be of one user


class Findings:
    def __init__(self, engine: Engine, listings: Listings, instance: str, most_waiting: int) -> None:
        """`instance` is the ID of this run of the steward: generations start anew with each."""
        self._engine, self._listings, self._instance = engine, listings, instance
        self._parameters = Parameters(engine, ("wait", "generation"))
        # Tenants may have half of them, so that they can't keep those out who see everything, such as the sidecar.
        self._most_waiting = {True: most_waiting // 2, False: most_waiting}
        self._waiting = {True: 0, False: 0}  # by whether a tenant does
        self._rooms = SharedPlaces(max(1, most_waiting // _SHARE))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With `wait` (seconds) the response is delayed while the generation is still the caller's: the parameter
        `generation`, or that of If-None-Match.
        """
        try:
            wanted = self._parameters.filter(request)
            wait, generation = self._parameters.wait(request), self._parameters.number(request, "generation")
        except ValueError as error:
            return json_error(400, str(error))
        visible = visible_to(request)
        listing, tenant = self._listings.of(visible), visible is not None
        if wait:
            present = await listing.generation()
            if generation == present or self._is_known(request, present):
                owner = owner_of(request)
                if not self._may_wait(tenant) or (owner is not None and not self._rooms.enter(owner)):
                    return self._refused()
                self._waiting[tenant] += 1
                try:
                    await self._change(listing, present, wait)
                finally:
                    self._waiting[tenant] -= 1
                    if owner is not None:
                        self._rooms.leave(owner)
        encoded = await listing.encoded(wanted)
        etag = tagged(request, f"{self._instance}.{encoded.generation}.{encoded.digest}")
        if matches(request, etag):
            return unchanged(etag)
        headers = {"Content-Type": "application/json", "ETag": etag}
        return await send(request, encoded.parts(), headers, encoded.length)

    def _is_known(self, request: web.Request, generation: int) -> bool:
        """Whether the client has a report of this generation, under any filter: a count of objects may differ."""
        present = f'"{self._instance}.{generation}.'
        return any(each.startswith(present) for each in known_tags(request))

    def _may_wait(self, tenant: bool) -> bool:
        few = self._waiting[tenant] < self._most_waiting[tenant]
        return few and sum(self._waiting.values()) < self._most_waiting[False]

    @staticmethod
    def _refused() -> web.Response:
        why = "too many requests wait for a change already, and no more can; ask without wait"
        response = json_error(503, why)
        response.headers["Retry-After"] = str(_RETRY_AFTER)
        return response

    def _moved_on(self, generation: int) -> bool:
        return self._engine.generation != generation

    async def _change(self, listing: Listing, before: int, seconds: float) -> None:
        """Of what is listed: what changes elsewhere is looked at once a second at most, and ends no wait."""
        try:
            async with asyncio.timeout(seconds):
                seen = self._engine.generation
                while await listing.generation() == before:
                    async with self._engine.changed:
                        await self._engine.changed.wait_for(partial(self._moved_on, seen))
                    seen = self._engine.generation
                    if await listing.generation() == before:
                        await asyncio.sleep(_LOOK_AGAIN)
        except TimeoutError:
            return
