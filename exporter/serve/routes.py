"""What is served where.

/metrics negotiates the format, and streams, so that a page of 100 MB needs the memory of one slice.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from importlib.resources import files
from itertools import islice
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest as text_of
from prometheus_client.openmetrics.exposition import ALLOWUTF8
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of
from prometheus_client.registry import Collector

from ..config.reloading import ReloadStatus
from ..counts.base import Aggregates
from ..counts.migrations import MigrationFailures
from ..engine.engine import Engine
from ..metrics.exposition import Exposition
from ..metrics.telemetry import Served
from ..questions import all_questions
from ..questions.asked import MigrationsQuery
from ..questions.urgency import Urgency
from .access.browsers import LOGIN, LOGOUT
from .api.findings import CausesView, Findings, Generation, Waits
from .api.questions import DrainUnderWay, MigrationsView, QuestionView
from .application import Routes
from .html.rendering import prepare
from .page.finding import FindingPage
from .page.findings import Addresses, Exports, FindingsPage
from .page.frame import Frame, Outside
from .page.objects import FeaturePages, InstancetypePages, NetworkPages, SearchPage, VMPage
from .page.overview import HealthPage, Overview, RepairsPage
from .page.previews import DrainPage, ImpactPage, NodePage, NodesPage
from .page.runbooks import RunbookPages, Runbooks
from .reports.listings import Listings
from .reports.result_cache import Versions
from .server.rooms import most_connections
from .server.sending import accepts, send

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_END = b"# EOF\n"
_FAMILIES = 10
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Scrape:
    def __init__(self, exposition: Exposition, registry: CollectorRegistry, served: Served) -> None:
        self._exposition, self._registry, self._served = exposition, registry, served

    async def handle(self, request: web.Request) -> web.StreamResponse:
        started = time.monotonic()
        openmetrics = _wants_openmetrics(request.headers.get("Accept", ""))
        size = 0

        async def counted() -> AsyncIterator[bytes]:
            nonlocal size
            async for part in self._parts(openmetrics):
                size += len(part)
                yield part

        response = await send(request, counted(), {"Content-Type": _OPENMETRICS if openmetrics else _TEXT})
        if request.method != "HEAD":
            self._served.seconds, self._served.size = time.monotonic() - started, size
        return response

    async def _parts(self, openmetrics: bool) -> AsyncIterator[bytes]:
        async for part in self._exposition.render():
            yield part
        families = iter(self._registry.collect())
        while some := _Families(islice(families, _FAMILIES)):
            # Whatever the scheme, no name of ours needs to be escaped: to look at each of its letters takes longer.
            yield openmetrics_of(some, ALLOWUTF8).removesuffix(_END) if openmetrics else text_of(some)  # type: ignore[no-untyped-call]
            await asyncio.sleep(0)
        if openmetrics:
            yield _END


class _Families(tuple[Metric, ...], Collector):
    """Some of those of a registry: all of them at once would keep others waiting."""

    def collect(self) -> Iterable[Metric]:
        return self


def _wants_openmetrics(accept: str) -> bool:
    offered = accepts(accept, "application/openmetrics-text")
    return offered > 0 and offered >= max(accepts(accept, "text/plain"), accepts(accept, "*/*"))


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
    urgencies: Mapping[str, Urgency],
    outside: Outside | None = None,
) -> Routes:
    """All of them only look. `urgencies` are those of the alerts, by their names."""
    prepare()
    instance = secrets.token_hex(4)
    asked = questions(engine, aggregates, failures, versions, instance)
    under_way = DrainUnderWay(engine, versions, listings.of(None).about)
    drain, migrations = asked["drain"], asked["migrations"]
    # Half of the connections may wait: the other half is for whoever asks now.
    waits = Waits(engine, most_connections() // 2)
    frame = Frame(engine, title, listings, config, outside or Outside())
    repairs, runbooks = RepairsPage(frame, versions.repairs), Runbooks()
    network_pages = NetworkPages(frame, asked["networks"])
    instancetype_pages = InstancetypePages(frame, asked["instancetypes"])
    feature_pages, runbook_pages = FeaturePages(frame, asked["features"]), RunbookPages(frame, runbooks, urgencies)
    exports = Exports(frame, Addresses(engine))
    return {
        "/": Overview(engine, frame, under_way, repairs).handle,
        "/findings": FindingsPage(engine, frame).handle,
        "/findings.csv": exports.csv,
        "/findings.json": exports.json,
        "/findings/{fingerprint}": FindingPage(engine, frame, migrations, runbooks).handle,
        "/vms/{namespace}/{name}": VMPage(frame, asked["vms/{namespace}/{name}"]).handle,
        "/nodes/": NodesPage(engine, frame, under_way).handle,
        "/nodes/{name}": NodePage(frame, drain).handle,
        "/networks/": network_pages.every,
        "/networks/{name}": network_pages.one,
        "/instancetypes/": instancetype_pages.every,
        "/instancetypes/{name}": instancetype_pages.one,
        "/features/": feature_pages.every,
        "/features/{name}": feature_pages.one,
        "/drain": DrainPage(engine, frame, drain).handle,
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


def questions(
    engine: Engine, aggregates: Aggregates, failures: MigrationFailures, versions: Versions, instance: str
) -> dict[str, Any]:
    """What answers each question, by its path."""
    views: dict[str, Any] = {}
    for each in all_questions():
        if each.asked is MigrationsQuery:
            views[each.path] = MigrationsView(each, engine, failures, instance)
        elif each.counted is MigrationFailures:
            version = lambda: (versions.everything, failures.version)  # noqa: E731
            views[each.path] = QuestionView(each, engine, failures, instance, version)
        else:
            counted = aggregates.of(each.counted) if each.counted is not None else None
            views[each.path] = QuestionView(each, engine, counted, instance, lambda: versions.everything)
    return views
