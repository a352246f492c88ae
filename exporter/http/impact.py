"""/api/v1/impact: what a change would do, with an ETag; and its page."""

from __future__ import annotations

from aiohttp import web

from ..engine.engine import Engine
from ..views.impact import BEFOREHAND, TITLES, Impact, NoSuchObjectError, steps, without
from .answers import as_text, json_answer, json_error
from .query import names_in
from .rendering import page_of
from .shared import Shared, Versions, in_turns

__all__ = ["ImpactPage", "ImpactView"]

_PARAMETERS = ("delete-instancetype", "delete-preference")
_SHOWN = 500  # findings of one answer
_NOTHING = f"name a change: {' or '.join(_PARAMETERS)}"

Asked = tuple[tuple[str, ...], ...]
"""The names of each parameter."""


class ImpactView:
    def __init__(self, engine: Engine, versions: Versions, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._instance = engine, instance
        self._taken = Shared[Asked, Impact](lambda: versions.everything)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Of all changes that the parameters name, together."""
        try:
            asked = names_in(request, *_PARAMETERS)
            if not any(asked):
                return json_error(400, _NOTHING)
            impact = await self.take(asked)
        except ValueError as error:
            return json_error(400, str(error))
        except NoSuchObjectError as error:
            return json_error(404, str(error))
        return await json_answer(request, self._instance, impact)

    async def take(self, asked: Asked) -> Impact:
        """Raises NoSuchObjectError, and ValueError for text that is no name."""
        return await self._taken.get(asked, lambda: self._take(asked))

    async def _take(self, asked: Asked) -> Impact:
        return await in_turns(steps(self._engine, without(self._engine.cluster, *asked), _SHOWN))


class ImpactPage:
    """/impact: the same as a page; without a change it asks for one."""

    def __init__(self, view: ImpactView, title: str) -> None:
        self._view, self._title = view, title

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = names_in(request, *_PARAMETERS)
            impact = await self._view.take(asked) if any(asked) else None
        except ValueError as error:
            return as_text(400, str(error))
        except NoSuchObjectError as error:
            return as_text(404, str(error))
        given = {name: ",".join(names) for name, names in zip(_PARAMETERS, asked, strict=True)}
        values = {"title": self._title, "impact": impact, "given": given, "titles": TITLES, "beforehand": BEFOREHAND}
        return await page_of(request, "impact.html", values)
