"""/api/v1/impact: what a change would do, with an ETag."""

from __future__ import annotations

from aiohttp import web

from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...views.impact import PARAMETERS, WHOLE, Impact, ImpactQuery, NoSuchObjectError, proposed, steps
from ..reports.result_cache import Shared, Versions
from ..server.query import names_in
from ..server.sending import json_answer, json_error

_SHOWN = 500  # findings of one answer
_NOTHING = f"name a change: {', '.join(PARAMETERS)}"


def asked_in(request: web.BaseRequest) -> ImpactQuery:
    """Raises ValueError."""
    return ImpactQuery(*names_in(request, *PARAMETERS, whole=WHOLE))


class ImpactView:
    def __init__(self, engine: Engine, versions: Versions, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._instance = engine, instance
        self._taken = Shared[ImpactQuery, Impact](lambda: versions.everything)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Of all changes that the parameters name, together."""
        try:
            asked = asked_in(request)
            if not any(asked):
                return json_error(400, _NOTHING)
            impact = await self.take(asked)
        except ValueError as error:
            return json_error(400, str(error))
        except NoSuchObjectError as error:
            return json_error(404, str(error))
        return await json_answer(request, self._instance, impact)

    async def take(self, asked: ImpactQuery) -> Impact:
        """Raises NoSuchObjectError, and ValueError for what can't be done."""
        return await self._taken.get(asked, lambda: self._take(asked))

    async def _take(self, asked: ImpactQuery) -> Impact:
        return await in_turns(steps(self._engine, proposed(self._engine.cluster, asked), _SHOWN))
