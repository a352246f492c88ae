"""/search: leads to the one thing that was looked for, or lists what is like it."""

from __future__ import annotations

import asyncio

from aiohttp import web

from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...findings.finding import Finding
from ...views.findings import Filter
from ...views.search import MOST_HITS, SearchHits, steps
from ..access.viewer import visible_to
from ..html.words import href
from ..reports.listing import Listing
from ..server.query import only, single_in
from .frame import Frame

_LONGEST = 253  # characters
_SLICE = 1000  # findings between two looks at the event loop


class SearchPage:
    def __init__(self, engine: Engine, frame: Frame) -> None:
        self._engine, self._frame = engine, frame
        self._turn = asyncio.Lock()  # many searches cost as much as one after another

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            only(request, ("q",))
            wanted = single_in(request, "q").strip()[:_LONGEST]
        except ValueError as error:
            return await self._frame.mistake(request, 400, str(error))
        listing = self._frame.listing(request)
        generation = await listing.generation()
        if wanted and await listing.find(wanted) is not None:
            raise web.HTTPFound(f"/findings/{wanted}")
        if wanted and await listing.cause(wanted) is not None:
            raise web.HTTPFound(f"/findings?cause={wanted}")
        whole = visible_to(request) is None
        async with self._turn:
            found = await in_turns(steps(self._engine, wanted)) if whole else SearchHits((), 0)
            about = [] if whole else await _about(listing, wanted)
        exact = [each for each in found.hits if each.exact]
        if len(exact) == 1 and (there := href(exact[0].ref)):
            raise web.HTTPFound(there)
        values = {
            "generation": generation,
            "q": wanted,
            "hits": found.hits,
            "left_out": found.in_all - len(found.hits),
            "findings": [listing.report_of(each) for each in about[:MOST_HITS]],
        }
        return await self._frame.page(request, "search.html", values, here="/search")


async def _about(listing: Listing, wanted: str) -> list[Finding]:
    """What a tenant is shown of objects and VMs with the text in their names."""
    lowered, found = wanted.lower(), []
    for at, each in enumerate(await listing.chosen(Filter())):
        if lowered and (lowered in each.subject.path.lower() or lowered in each.vm.lower()):
            found.append(each)
        if at % _SLICE == 0:
            await asyncio.sleep(0)
    return found
