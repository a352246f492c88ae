"""What is served where."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry

from ..config.reloading import ReloadStatus
from ..counts.base import Aggregates
from ..counts.migrations import MigrationFailures
from ..engine.engine import Engine
from ..metrics.exposition import Exposition
from ..metrics.telemetry import Served
from ..questions import all_questions
from ..questions.asked import MigrationsQuery
from ..questions.finding_index import FindingIndex
from ..questions.urgency import Urgency
from .access.browsers import LOGIN, LOGOUT
from .api.findings import CausesView, Findings, Generation, WaitingRequests
from .api.questions import DrainUnderWay, MigrationsView, QuestionView, VMsView, VMView
from .api.scrape import Scrape
from .application import Routes
from .html.rendering import prepare
from .page.finding import FindingPage
from .page.findings import Addresses, Exports, FindingsPage
from .page.frame import Frame, Outside
from .page.objects import FeaturePages, InstancetypePages, NetworkPages, SearchPage, VMPage
from .page.overview import HealthPage, Overview, RepairsPage
from .page.previews import DrainPage, ImpactPage, MaintenancePage, NodePage, NodesPage, UpgradePage
from .page.runbooks import RunbookPages, Runbooks
from .page.vms import VMsPage
from .reports.listings import Listings
from .reports.result_cache import Versions
from .server.rooms import most_connections

# The style sheet and the script of the pages.

_FOLDER = files("exporter.serve.html").joinpath("templates")
_STYLE = _FOLDER.joinpath("style.css").read_text(encoding="utf-8")
_SCRIPT = _FOLDER.joinpath("page.js").read_text(encoding="utf-8")


async def stylesheet(_: web.Request) -> web.StreamResponse:
    return web.Response(text=_STYLE, content_type="text/css", charset="utf-8")


async def script(_: web.Request) -> web.StreamResponse:
    return web.Response(text=_SCRIPT, content_type="text/javascript", charset="utf-8")


FOR_TENANTS = (
    "/",
    "/api/v1/causes",
    "/api/v1/findings",
    "/api/v1/generation",
    "/api/v1/migrations",
    "/api/v1/vms",
    "/api/v1/vms/{namespace}/{name}",
    "/findings",
    "/findings.csv",
    "/findings.json",
    "/findings/{fingerprint}",
    "/health",
    "/page.js",
    "/runbooks",
    "/runbooks/",
    "/runbooks/{name}",
    "/search",
    "/style.css",
    "/vms",
    "/vms/",
    "/vms.csv",
    "/vms/{namespace}/{name}",
)
"""The paths that answer a tenant with what is theirs. A new path is for those who see everything."""
UNASKED = (LOGIN, LOGOUT, "/style.css")
"""The paths that answer everybody: the form that asks for a token, and how it looks."""


def routes(
    *,
    engine: Engine,
    aggregates: Aggregates,
    failures: MigrationFailures,
    exposition: Exposition,
    registry: CollectorRegistry,
    served: Served,
    config: ReloadStatus,
    title: str,
    versions: Versions,
    listings: Listings,
    urgencies: Mapping[str, Urgency],
    outside: Outside | None = None,
) -> Routes:
    """All of them only look. `urgencies` are those of the alerts, by their names."""
    prepare()
    instance = secrets.token_hex(4)
    asked = questions(engine, aggregates, failures, versions, instance, listings)
    under_way = DrainUnderWay(engine, versions, listings.of(None).about)
    drain, migrations = asked["drain"], asked["migrations"]
    # Half of the connections may wait: the other half is for whoever asks now.
    waits = WaitingRequests(engine, most_connections() // 2)
    frame = Frame(engine, title, listings, config, outside or Outside())
    repairs, runbooks = RepairsPage(frame, versions.repairs), Runbooks()
    vms = VMsPage(frame, asked["vms"])
    network_pages = NetworkPages(frame, asked["networks"], vms)
    instancetype_pages = InstancetypePages(frame, asked["instancetypes"], vms)
    feature_pages, runbook_pages = FeaturePages(frame, asked["features"], vms), RunbookPages(frame, runbooks, urgencies)
    exports = Exports(frame, Addresses(engine))
    made: Routes = {
        "/": Overview(engine, frame, under_way, repairs).handle,
        "/findings": FindingsPage(engine, frame).handle,
        "/findings.csv": exports.csv,
        "/findings.json": exports.json,
        "/findings/{fingerprint}": FindingPage(engine, frame, migrations, runbooks).handle,
        "/vms/": vms.handle,
        "/vms.csv": vms.csv,
        "/vms/{namespace}/{name}": VMPage(frame, asked["vms/{namespace}/{name}"]).handle,
        "/nodes/": NodesPage(engine, frame, under_way).handle,
        "/nodes/{name}": NodePage(frame, drain, vms).handle,
        "/networks/": network_pages.every,
        "/networks/{name}": network_pages.one,
        "/instancetypes/": instancetype_pages.every,
        "/instancetypes/{name}": instancetype_pages.one,
        "/features/": feature_pages.every,
        "/features/{name}": feature_pages.one,
        "/drain": DrainPage(engine, frame, drain).handle,
        "/maintenance": MaintenancePage(frame, asked["maintenance"]).handle,
        "/upgrade": UpgradePage(frame, asked["upgrade"]).handle,
        "/impact": ImpactPage(frame, asked["impact"]).handle,
        "/runbooks/": runbook_pages.every,
        "/runbooks/{name}": runbook_pages.one,
        "/health": HealthPage(engine, frame).handle,
        "/repairs": repairs.handle,
        "/search": SearchPage(engine, frame).handle,
        "/page.js": script,
        "/style.css": stylesheet,
        "/metrics": Scrape(exposition, registry, served).handle,
        "/api/v1/findings": Findings(engine, listings, instance, waits).handle,
        "/api/v1/generation": Generation(listings, waits).handle,
        "/api/v1/causes": CausesView(engine, listings, instance).handle,
        **{f"/api/v1/{path}": each.handle for path, each in asked.items()},
    }
    lists = [path for path in made if path.endswith("/") and path != "/"]
    return made | {path.removesuffix("/"): _led_to(path) for path in lists}


def _led_to(path: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """From the address of a list that somebody has typed without the slash at its end, with what is asked for."""

    async def led(request: web.Request) -> web.StreamResponse:
        raise web.HTTPPermanentRedirect(f"{path}?{request.query_string}" if request.query_string else path)

    return led


def questions(
    engine: Engine,
    aggregates: Aggregates,
    failures: MigrationFailures,
    versions: Versions,
    instance: str,
    listings: Listings,
) -> dict[str, Any]:
    """What answers each question, by its path."""
    views: dict[str, Any] = {}
    for each in all_questions():
        if each.asked is MigrationsQuery:
            views[each.path] = MigrationsView(each, engine, failures, instance)
        elif each.counted is MigrationFailures:
            version = lambda: (versions.everything, failures.version)  # noqa: E731
            views[each.path] = VMView(listings, each, engine, failures, instance, version)
        elif each.counted is FindingIndex:
            views[each.path] = VMsView(each, engine, listings.index, instance, lambda: versions.everything)
        else:
            counted = aggregates.of(each.counted) if each.counted is not None else None
            views[each.path] = QuestionView(each, engine, counted, instance, lambda: versions.everything)
    return views
