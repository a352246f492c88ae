"""Renders templates, in slices; every value is escaped.

What is invisible, or turns the direction of what follows, is written out: a name could pass for another by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from importlib.resources import files
from itertools import islice
from typing import Any

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...store.text.visible import written_out
from ...version import installed
from ..server.sending import send
from .words import FILTERS

_SLICE = 500  # pieces between two looks at the event loop
_SHORT = 0xFFFF  # the last code that four digits have


def visible(value: Any) -> Any:
    """A text with what is invisible, or turns the direction, written out; line breaks and tabs stay."""
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    shown = written_out(value, lambda each: f"\\u{ord(each):04x}" if ord(each) <= _SHORT else f"\\U{ord(each):08x}")
    return Markup(shown) if isinstance(value, Markup) else shown  # noqa: S704 - as safe as it was


def templates_of(package: str) -> Environment:
    """Those in the folder `templates` of a package."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_TEMPLATES = templates_of("exporter.http.html")
_TEMPLATES.filters.update(FILTERS)


def prepare() -> None:
    """Compiles the templates, so that the first request need not."""
    for name in _TEMPLATES.list_templates(extensions=("html",)):
        _TEMPLATES.get_template(name)


def as_file(template: str, values: Mapping[str, Any]) -> str:
    """A page that is whole by itself, with its style in it."""
    style = Markup(files(__package__).joinpath("templates", "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return _TEMPLATES.get_template(template).render(**{"style": style, "version": installed(), **values})


async def page_of(
    request: web.Request, template: str, values: Mapping[str, Any], status: int = 200
) -> web.StreamResponse:
    headers = {"Content-Type": "text/html; charset=utf-8"}
    return await send(request, _parts(template, values), headers, status=status)


async def _parts(template: str, values: Mapping[str, Any]) -> AsyncIterator[bytes]:
    pieces = _TEMPLATES.get_template(template).generate(**values)
    while part := "".join(islice(pieces, _SLICE)):
        yield part.encode("utf-8", "replace")
        await asyncio.sleep(0)
