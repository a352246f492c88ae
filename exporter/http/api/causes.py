"""/api/v1/causes: what there is to do, one entry a cause, with the filters of findings and an ETag."""

from __future__ import annotations

from aiohttp import web
from msgspec import UNSET

from ...engine.engine import Engine
from ...views.causes import CausesReport
from ...views.findings import Filter
from ..access.viewer import visible_to
from ..reports.listings import Listings
from ..server.answers import json_answer, json_error
from ..server.query import Parameters


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
