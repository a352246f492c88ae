"""The style sheet and the script of the pages."""

from __future__ import annotations

from importlib.resources import files

from aiohttp import web

_FOLDER = files("exporter.http.html").joinpath("templates")
_STYLE = _FOLDER.joinpath("style.css").read_text(encoding="utf-8")
_SCRIPT = _FOLDER.joinpath("page.js").read_text(encoding="utf-8")


async def stylesheet(_: web.Request) -> web.StreamResponse:
    return web.Response(text=_STYLE, content_type="text/css", charset="utf-8")


async def script(_: web.Request) -> web.StreamResponse:
    return web.Response(text=_SCRIPT, content_type="text/javascript", charset="utf-8")
