"""Requests of tenants, known by a header."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from exporter.http.access.viewer import EVERY_NAMESPACE, Visible, see


async def by_header(request: web.Request) -> web.StreamResponse | None:
    """The header names the namespaces, as an API server would have said; none is everything."""
    names = request.headers.get("Tenant", "")
    if names:
        see(request, EVERY_NAMESPACE if names == "all" else Visible(frozenset(names.split())))
    return None


def names(report: dict[str, Any]) -> list[str]:
    return [each["subject"]["namespace"] for each in report["findings"]]
