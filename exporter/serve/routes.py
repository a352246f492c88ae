"""What is served where."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from importlib.resources import files

from aiohttp import web
from prometheus_client import CollectorRegistry

from ..config.reloading import ReloadStatus
from ..counts.addresses import AddressUsage
from ..counts.base import Aggregates
from ..counts.features import FeatureUsage
from ..counts.instancetypes import InstancetypeUsage
from ..counts.migrations import MigrationFailures
from ..engine.engine import Engine
from ..metrics.exposition import Exposition
from ..metrics.telemetry import Served
from ..questions.urgency import Urgency
from .access.asking import LOGIN, LOGOUT
from .api.findings import CausesView, Findings, Generation, Waits
from .api.questions import DrainView, FeaturesView, ImpactView, InstancetypesView, MigrationsView, NetworksView, VMView
from .api.scrape import Scrape
from .application import Routes
from .html.rendering import prepare
from .page.finding import FindingPage
from .page.findings import Addresses, Exports, FindingsPage
from .page.frame import Frame
from .page.objects import FeaturePages, InstancetypePages, NetworkPages, SearchPage, VMPage
from .page.outside import Outside
from .page.overview import HealthPage, Overview, RepairsPage
from .page.previews import DrainPage, ImpactPage, NodePage, NodesPage
from .page.runbooks import RunbookPages, Runbooks
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
    "/findings",
    "/findings.csv",
    "/findings.json",
    "/findings/{fingerprint}",
    "/health",
    "/page.js",
    "/runbooks/",
    "/runbooks/{name}",
    "/search",
    "/style.css",
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
    paging: Mapping[str, str],
    urgencies: Mapping[str, Urgency],
    outside: Outside | None = None,
) -> Routes:
    """All of them only look. `paging` says of a reason, CHECK/REASON, that has critical findings why they do not page;
    empty where they do. `urgencies` are those of the alerts, by their names.
    """
    prepare()
    instance = secrets.token_hex(4)
    networks = NetworksView(engine, aggregates.of(AddressUsage), versions, instance)
    instancetypes = InstancetypesView(engine, aggregates.of(InstancetypeUsage), versions, instance)
    features = FeaturesView(engine, aggregates.of(FeatureUsage), versions, instance)
    drain = DrainView(engine, versions, instance, listings.of(None).about)
    impact = ImpactView(engine, versions, instance)
    migrations = MigrationsView(engine, failures, instance)
    # Half of the connections may wait: the other half is for whoever asks now.
    waits = Waits(engine, most_connections() // 2)
    frame = Frame(engine, title, listings, config, outside or Outside())
    repairs, runbooks = RepairsPage(frame, versions.repairs), Runbooks()
    vms = VMView(engine, failures, versions, instance)
    network_pages, instancetype_pages = NetworkPages(frame, networks), InstancetypePages(frame, instancetypes)
    feature_pages, runbook_pages = (FeaturePages(frame, features), RunbookPages(frame, runbooks, urgencies))
    exports = Exports(frame, Addresses(engine))
    return {
        "/": Overview(engine, frame, drain, repairs).handle,
        "/findings": FindingsPage(engine, frame).handle,
        "/findings.csv": exports.csv,
        "/findings.json": exports.json,
        "/findings/{fingerprint}": FindingPage(engine, frame, migrations, paging, runbooks).handle,
        "/vms/{namespace}/{name}": VMPage(frame, vms).handle,
        "/nodes/": NodesPage(engine, frame, drain).handle,
        "/nodes/{name}": NodePage(frame, drain).handle,
        "/networks/": network_pages.every,
        "/networks/{name}": network_pages.one,
        "/instancetypes/": instancetype_pages.every,
        "/instancetypes/{name}": instancetype_pages.one,
        "/features/": feature_pages.every,
        "/features/{name}": feature_pages.one,
        "/drain": DrainPage(engine, frame, drain).handle,
        "/impact": ImpactPage(frame, impact).handle,
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
        "/api/v1/migrations": migrations.handle,
        "/api/v1/networks": networks.handle,
        "/api/v1/instancetypes": instancetypes.handle,
        "/api/v1/features": features.handle,
        "/api/v1/drain": drain.handle,
        "/api/v1/impact": impact.handle,
        "/api/v1/vms/{namespace}/{name}": vms.handle,
    }
