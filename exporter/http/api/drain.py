"""/api/v1/drain: preview of a drain, with an ETag; and its page."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...store.kinds.node import Node
from ...store.source import Source
from ...views.drain import STAYS, TITLES, Drain, NoSuchNodeError, chosen, steps
from ..html.rendering import page_of
from ..reports.result_cache import Shared, Versions
from ..server.answers import as_text, json_answer, json_error
from ..server.query import names_in

__all__ = ["DrainPage", "DrainView"]


class DrainView:
    def __init__(self, engine: Engine, versions: Versions, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._instance = engine, instance
        self._taken = Shared[tuple[str, ...], Drain](lambda: versions.everything)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The nodes are those of the parameter `node`; without one, all that are cordoned or tainted to be drained."""
        try:
            (names,) = names_in(request, "node")
            drain = await self.take(names)
        except ValueError as error:
            return json_error(400, str(error))
        except NoSuchNodeError as error:
            return json_error(404, str(error))
        return await json_answer(request, self._instance, drain)

    async def take(self, nodes: Iterable[str] = ()) -> Drain:
        """Of these nodes; of all that are cordoned or drained where none is named. Raises NoSuchNodeError."""
        named = tuple(nodes)
        return await self._taken.get(named, lambda: self._take(named))

    async def _take(self, named: tuple[str, ...]) -> Drain:
        engine = self._engine
        source = engine.cluster.get(Source, "", Node.__name__)
        seen = source is not None and source.readable
        wanted = chosen(engine.cluster, named, cordoned=not named) if seen else []
        return await in_turns(steps(engine.cluster, wanted, list(engine.findings()), engine.generation))


class DrainPage:
    """/drain: the same as a page."""

    def __init__(self, view: DrainView, title: str) -> None:
        self._view, self._title = view, title

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            (names,) = names_in(request, "node")
            drain = await self._view.take(names)
        except ValueError as error:
            return as_text(400, str(error))
        except NoSuchNodeError as error:
            return as_text(404, str(error))
        values = {"title": self._title, "drain": drain, "asked": ",".join(names), "titles": TITLES, "stays": STAYS}
        return await page_of(request, "drain.html", values)
