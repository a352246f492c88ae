"""/api/v1/findings: the report as JSON, with filters, an ETag, and long polling by generation."""

from __future__ import annotations

from aiohttp import web
from msgspec import UNSET

from ...engine.engine import Engine
from ...views.causes import CausesReport
from ...views.findings import Filter
from ..access.viewer import visible_to
from ..reports.listings import Listings
from ..server.query import Parameters, number_in, seconds_in
from ..server.sending import json_answer, json_error, known_tags, matches, send, tagged, unchanged
from .waiting import Waits


class Findings:
    def __init__(self, engine: Engine, listings: Listings, instance: str, waits: Waits) -> None:
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
