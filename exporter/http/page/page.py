"""The page: findings with filters, networks, instancetypes, features, a drain preview, sources. It has no script."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from ...config.reloading import ReloadStatus
from ...engine.engine import Engine
from ...findings.finding import Severity
from ...views.drain import STAYS, TITLES, Drain, NoSuchNodeError, draining
from ...views.features.manual import BITES, MIGRATES
from ...views.findings import Filter, plan_command
from ...views.network_state import STATES
from ...views.times import rfc3339
from ..access.viewer import Visible, visible_to
from ..api.drain import DrainView
from ..api.features import FeaturesView
from ..api.instancetypes import InstancetypesView
from ..api.migrations import MigrationsView
from ..api.networks import NetworksView
from ..html.rendering import page_of
from ..reports.listing import Listings
from ..server.answers import as_text
from ..server.query import Parameters

__all__ = ["HtmlPage", "stylesheet"]

_SHOWN = 500  # findings on one page
_SHOWN_NETWORKS = 100
_SHOWN_INSTANCETYPES = 100
_SHOWN_GATES = 200
_SHOWN_NODES = 50
_SHOWN_CHOICES = 500  # options of one filter
_SHOWN_OTHERS = 200  # undecodable objects, and partitions without an answer
_SHOWN_NAMES = 10  # namespaces of a tenant


class HtmlPage:
    def __init__(
        self,
        engine: Engine,
        title: str,
        config: ReloadStatus,
        listings: Listings,
        networks: NetworksView,
        instancetypes: InstancetypesView,
        features: FeaturesView,
        drain: DrainView,
        migrations: MigrationsView,
        paging: Mapping[str, str],
    ) -> None:
        """`paging` says why critical findings of a reason, CHECK/REASON, do not page; empty where they do."""
        self._engine, self._title, self._config = engine, title, config
        self._listings = listings
        self._networks, self._instancetypes, self._features = networks, instancetypes, features
        self._drain, self._migrations, self._paging = drain, migrations, paging
        self._parameters = Parameters(engine, ("page",))
        self._meanings = {
            f"{check.id}/{name}": reason.meaning for check in engine.checks for name, reason in check.reasons.items()
        }

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            wanted, asked = self._parameters.filter(request), self._parameters.number(request, "page")
        except ValueError as error:
            return as_text(400, str(error))
        visible = visible_to(request)
        listing = self._listings.of(visible)
        sections = await self._sections() if visible is None else {}
        report = listing.surroundings(await listing.generation())
        overview = await listing.overview()
        chosen = await listing.chosen(wanted)
        pages = max(1, -(-len(chosen) // _SHOWN))
        number = min(max(1, asked or 1), pages)
        query = [(key, value) for key in Filter.__struct_fields__ for value in sorted(getattr(wanted, key))]
        values = {
            "title": self._title,
            "whole": visible is None,
            "seen": _seen(visible),
            "report": report,
            "reconcile": report.reconcile or None,
            "plan_command": plan_command,
            "failures_of": self._migrations.of,
            "time": rfc3339,
            "most": _SHOWN_OTHERS,
            "total": len(chosen),
            "first": (number - 1) * _SHOWN,
            "findings": [listing.report_of(each) for each in chosen[(number - 1) * _SHOWN : number * _SHOWN]],
            "counts": {s.value: overview.counts[s.value] for s in reversed(Severity)},
            "choices": {name: _choices(values, wanted, name) for name, values in overview.offered.items()},
            "filter": urlencode(query),
            "chosen": dict(reversed(query)),
            "earlier": _page(query, number - 1) if number > 1 else "",
            "later": _page(query, number + 1) if number < pages else "",
            "meanings": self._meanings,
            "paging": self._paging,
            "ready": self._engine.ready,
            "config": self._config,
            "ago": _ago,
            "now": time.time(),
            **sections,
        }
        return await page_of(request, "page.html", values)

    async def _sections(self) -> dict[str, Any]:
        """All but the findings."""
        networks, instancetypes = await self._networks.take(), await self._instancetypes.take()
        features = await self._features.take()
        drained, drain = await self._draining()
        return {
            "networks": networks,
            "network_states": STATES,
            "shown_networks": networks.networks[:_SHOWN_NETWORKS],
            "instancetypes": instancetypes,
            "shown_instancetypes": instancetypes.objects[:_SHOWN_INSTANCETYPES],
            "features": features,
            "shown_features": [each for each in features.features if not each.quiet],
            "quiet_features": [each for each in features.features if each.quiet],
            "bites": BITES,
            "migrates": MIGRATES,
            "shown_gates": features.gates[:_SHOWN_GATES],
            "drain": drain,
            "drained": drained,
            "titles": TITLES,
            "stays": STAYS,
        }

    async def _draining(self) -> tuple[list[str], Drain]:
        while True:
            drained = draining(self._engine.cluster)
            try:
                return drained, await self._drain.take(drained[:_SHOWN_NODES])
            except NoSuchNodeError:
                continue  # it went while others were previewed


def _choices(values: set[str], wanted: Filter, name: str) -> dict[str, Any]:
    """The options of a filter: the first values of open findings, and those already chosen; how many are left out."""
    some = sorted(values - {""})
    shown = some[:_SHOWN_CHOICES]
    return {"values": sorted({*shown, *getattr(wanted, name)}), "left_out": len(some) - len(shown)}


def _page(query: list[tuple[str, str]], number: int) -> str:
    return "/?" + urlencode([*query, ("page", number)]) + "#findings"


def _ago(now: float, since: str) -> str:
    """The age of an RFC 3339 time, in its two largest units."""
    seconds = max(0, int(now - datetime.fromisoformat(since).timestamp()))
    for unit, size, small, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            return f"{seconds // size}{unit} {seconds % size // part}{small}"
    return f"{seconds}s"


_STYLE = files("exporter.http.html").joinpath("templates/style.css").read_text(encoding="utf-8")


async def stylesheet(_: web.Request) -> web.StreamResponse:
    return web.Response(text=_STYLE, content_type="text/css", charset="utf-8")


def _seen(visible: Visible | None) -> str:
    """The namespaces of a tenant; empty for whoever sees everything."""
    if visible is None:
        return ""
    if visible.names is None:
        return "all namespaces"
    names = sorted(visible.names)
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"namespace{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN_NAMES])}{more}"
