"""/runbooks/: the runbooks as pages, for whoever can't reach the internet. They are read once, at the start."""

from __future__ import annotations

from aiohttp import web

from ...runbook import texts
from ..html.rendering import page_of
from ..server.answers import as_text

__all__ = ["Runbooks"]


class Runbooks:
    def __init__(self, title: str) -> None:
        self._title, self._texts = title, texts()

    async def every(self, request: web.Request) -> web.StreamResponse:
        return await self._page(request, "")

    async def one(self, request: web.Request) -> web.StreamResponse:
        """By the name of its alert, with or without `.md`: `steward rules render` writes links with it."""
        name = request.match_info["name"].removesuffix(".md")
        if name not in self._texts:
            return as_text(404, f"there is no runbook {name[:100]!r}; /runbooks/ has all of them")
        return await self._page(request, name)

    async def _page(self, request: web.Request, name: str) -> web.StreamResponse:
        values = {"title": self._title, "name": name, "text": self._texts.get(name, ""), "names": list(self._texts)}
        return await page_of(request, "runbook.html", values)
