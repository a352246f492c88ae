"""/api/v1/impact: what a change would do, with an ETag; and its page."""

from __future__ import annotations

from urllib.parse import urlencode

from aiohttp import web

from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...views.impact import PARAMETERS, TITLES, WHOLE, Impact, ImpactQuery, NoSuchObjectError, proposed, steps
from ..html.rendering import page_of
from ..reports.result_cache import Shared, Versions
from ..server.answers import as_text, json_answer, json_error
from ..server.query import names_in

__all__ = ["ImpactPage", "ImpactView"]

_SHOWN = 500  # findings of one answer
_NOTHING = f"name a change: {', '.join(PARAMETERS)}"


def _asked(request: web.BaseRequest) -> ImpactQuery:
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
            asked = _asked(request)
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


def _query(asked: ImpactQuery) -> str:
    """The same question again."""
    return urlencode([(name, value) for name, values in zip(PARAMETERS, asked, strict=True) for value in values])


class ImpactPage:
    """/impact: the same as a page; without a change it asks for one."""

    def __init__(self, view: ImpactView, title: str) -> None:
        self._view, self._title = view, title

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = _asked(request)
            impact = await self._view.take(asked) if any(asked) else None
        except ValueError as error:
            return as_text(400, str(error))
        except NoSuchObjectError as error:
            return as_text(404, str(error))
        given = dict(zip(PARAMETERS, asked, strict=True))
        values = {"title": self._title, "impact": impact, "given": given, "again": _query(asked), "titles": TITLES}
        return await page_of(request, "impact.html", values)
