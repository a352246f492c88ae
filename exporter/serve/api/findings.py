"""/api/v1/findings: the report as JSON, with filters, an ETag, and long polling by generation."""

from __future__ import annotations

import asyncio
from functools import partial

from aiohttp import web
from msgspec import UNSET

from ...engine.engine import Engine
from ...questions.causes import CausesReport
from ...questions.findings import Filter
from ..access.viewer import visible_to
from ..reports.listing import Listing
from ..reports.listings import Listings
from ..server.query import Parameters, number_in, only, seconds_in
from ..server.rooms import SharedPlaces, owner_of
from ..server.sending import json_answer, json_error, known_tags, matches, send, tagged, unchanged

# Requests that wait for a change: how many may, and until when; and /api/v1/generation, by which a page follows.

_RETRY_AFTER = 5  # seconds
_LOOK_AGAIN = 1.0  # seconds
_SHARE = 16  # of all that may wait so small a part may be of one user


class WaitingRequests:
    def __init__(self, engine: Engine, most: int) -> None:
        """`most` requests wait at once. Tenants may have half of them, so that they can't keep those out who see
        everything, such as the sidecar.
        """
        self._engine = engine
        self._most = {True: most // 2, False: most}
        self._waiting = {True: 0, False: 0}  # by whether a tenant does
        self._rooms = SharedPlaces(max(1, most // _SHARE))

    async def for_change(
        self, request: web.BaseRequest, listing: Listing, present: int, seconds: float
    ) -> web.Response | None:
        """Until the generation of what is listed is another one, or for so long; a refusal where no more can wait."""
        tenant, owner = visible_to(request) is not None, owner_of(request)
        if not self._may_wait(tenant) or (owner is not None and not self._rooms.enter(owner)):
            return self._refused()
        self._waiting[tenant] += 1
        try:
            await self._change(listing, present, seconds)
        finally:
            self._waiting[tenant] -= 1
            if owner is not None:
                self._rooms.leave(owner)
        return None

    def _may_wait(self, tenant: bool) -> bool:
        few = self._waiting[tenant] < self._most[tenant]
        return few and sum(self._waiting.values()) < self._most[False]

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


class Generation:
    """/api/v1/generation: the generation of what the viewer sees, held back while it is the one that the page has."""

    def __init__(self, listings: Listings, waits: WaitingRequests) -> None:
        self._listings, self._waits = listings, waits

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            only(request, ("wait", "generation"))
            wait, known = seconds_in(request, "wait"), number_in(request, "generation")
        except ValueError as error:
            return json_error(400, str(error))
        listing = self._listings.of(visible_to(request))
        present = await listing.generation()
        if wait and known == present:
            refused = await self._waits.for_change(request, listing, present, wait)
            if refused is not None:
                return refused
            present = await listing.generation()
        return web.json_response({"generation": present})


class Findings:
    def __init__(self, engine: Engine, listings: Listings, instance: str, waits: WaitingRequests) -> None:
        """`instance` is the ID of this run of the steward: generations start anew with each."""
        self._listings, self._instance, self._waits = listings, instance, waits
        self._parameters = Parameters(engine, ("wait", "generation"))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With `wait` (seconds) the response is delayed while the generation is still the caller's: the parameter
        `generation`, or that of If-None-Match.
        """
        try:
            wanted = self._parameters.filter(request)
            wait, generation = seconds_in(request, "wait"), number_in(request, "generation")
        except ValueError as error:
            return json_error(400, str(error))
        listing = self._listings.of(visible_to(request))
        if wait:
            present = await listing.generation()
            if generation == present or self._is_known(request, present):
                refused = await self._waits.for_change(request, listing, present, wait)
                if refused is not None:
                    return refused
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


# /api/v1/causes: what there is to do, one entry a cause, with the filters of findings and an ETag.


class CausesView:
    def __init__(self, engine: Engine, listings: Listings, instance: str) -> None:
        """`instance` is the ID of this run of the steward: generations start anew with each."""
        self._listings, self._instance = listings, instance
        self._parameters = Parameters(engine, ())

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            wanted = self._parameters.filter(request)
        except ValueError as error:
            return json_error(400, str(error))
        listing = self._listings.of(visible_to(request))
        around = listing.surroundings(await listing.generation())  # what is newer than its generation misleads nobody
        causes = await listing.causes(wanted)
        ended = await listing.ended() if wanted == Filter() else []
        history = listing.history() if wanted == Filter() else UNSET
        report = CausesReport(
            around.generation,
            around.ready,
            tuple(causes),
            tuple(ended),
            tuple(around.unknown),
            history,
            listing.known_causes(),
        )
        return await json_answer(request, self._instance, report)
