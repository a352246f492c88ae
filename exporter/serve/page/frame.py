"""What all pages have in common: whose it is, as of when, what can't be relied on; and how a mistake is answered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web
from msgspec import UnsetType

from ...config.reloading import ReloadStatus
from ...engine.engine import Engine
from ...questions.causes import CauseReport, HistoryReport
from ...questions.times import age, lately_said, origin, rfc3339
from ..access.viewer import Visible, signed_in, visible_to
from ..html.rendering import page_of
from ..reports.listing import Listing
from ..reports.listings import Listings
from .outside import Outside

_SHOWN_NAMES = 10  # namespaces of a tenant
_MOMENT = 30.0  # seconds


class Frame:
    def __init__(self, engine: Engine, title: str, listings: Listings, config: ReloadStatus, outside: Outside) -> None:
        self._engine, self._title, self.listings, self._config = engine, title, listings, config
        self.outside = outside

    def listing(self, request: web.BaseRequest) -> Listing:
        """What the viewer may see."""
        return self.listings.of(visible_to(request))

    async def page(
        self, request: web.Request, template: str, values: Mapping[str, Any], *, here: str, status: int = 200
    ) -> web.StreamResponse:
        """A page of the room `here`. It follows the generation that was there before it was made."""
        visible, now = visible_to(request), self._engine.clock()
        listing = self.listings.of(visible)
        history = listing.history()
        generation = values.get("generation", await listing.generation())
        around = listing.surroundings(generation)
        common = {
            "title": self._title,
            "here": here,
            "whole": visible is None,
            "seen": _seen(visible),
            "user": signed_in(request),
            "generation": generation,
            "follows": status == web.HTTPOk.status_code,
            "ready": self._engine.ready,
            "config": self._config,
            "fleet": around.fleet,
            "out_of_date_since": _since(around.fleet.out_of_date_since, now),
            "reconcile": around.reconcile or None,
            "now": now,
            "as_of": rfc3339(now),
            "age": partial(age, now),
            "origin": origin,
            "time": rfc3339,
            "lately": partial(_lately, history, now),
            "q": "",
        }
        return await page_of(request, template, common | dict(values), status)

    async def mistake(
        self, request: web.Request, status: int, sentence: str, *, here: str = "", more: Mapping[str, Any] | None = None
    ) -> web.StreamResponse:
        """What can't be answered, in a sentence."""
        values = {"sentence": sentence, "refused": status == 400, **(more or {})}
        return await self.page(request, "mistake.html", values, here=here, status=status)


def _since(out_of_date: str, now: float) -> str:
    """Empty too for a connection that broke a moment ago: watches end and begin again every few minutes."""
    return out_of_date if out_of_date and out_of_date <= rfc3339(now - _MOMENT) else ""


def _lately(history: HistoryReport | UnsetType, now: float, cause: CauseReport) -> str:
    """What opened and closed of a cause in the last hour; empty where nothing did, or nobody counts it."""
    opened, closed = cause.opened or 0, cause.closed or 0
    return lately_said(opened, closed, history.each_since, now) if history and (opened or closed) else ""


def _seen(visible: Visible | None) -> str:
    """The namespaces of a tenant; empty for whoever sees everything."""
    if visible is None:
        return ""
    if visible.names is None:
        return "all namespaces"
    names = sorted(visible.names)
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"namespace{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN_NAMES])}{more}"
