"""How tests ask a steward over HTTP."""

from __future__ import annotations

import re
from typing import Any

import aiohttp
from aiohttp import web

from exporter.serve.access.viewer import EVERY_NAMESPACE, Visible, see

__all__ = ["get", "scripts_in"]

OWN_SCRIPT = '<script src="/page.js" defer>'


async def get(http: aiohttp.ClientSession, path: str, **headers: str) -> tuple[int, str, Any]:
    """The status, the text and the headers of an answer."""
    async with http.get(path, headers=headers) as answer:
        return answer.status, await answer.text(), answer.headers


def scripts_in(html: str) -> list[str]:
    """The elements by which a page has something run, but for the file of its own."""
    return [
        each
        for each in re.findall("<script[^>]*>", html, re.IGNORECASE)
        if each.replace('defer=""', "defer") != OWN_SCRIPT
    ]


# Requests of tenants, known by a header.


async def by_header(request: web.Request) -> web.StreamResponse | None:
    """The header names the namespaces, as an API server would have said; none is everything."""
    names = request.headers.get("Tenant", "")
    if names:
        see(request, EVERY_NAMESPACE if names == "all" else Visible(frozenset(names.split())))
    return None


def names(report: dict[str, Any]) -> list[str]:
    return [each["subject"]["namespace"] for each in report["findings"]]
