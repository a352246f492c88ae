"""Renders templates; every value is escaped."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["page_of"]

_TEMPLATES = Environment(
    loader=PackageLoader("exporter.http"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page_of(template: str, **values: Any) -> web.Response:
    html = _TEMPLATES.get_template(template).render(**values)
    return web.Response(text=html, content_type="text/html", charset="utf-8")
