"""What is served where."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from ..config.reloading import ReloadStatus
from ..engine.engine import Engine
from ..history.migrations import MigrationFailures
from ..metrics.exposition import Exposition
from ..metrics.telemetry import Served
from ..states.base import Aggregates
from ..usage.addresses import AddressUsage
from ..usage.features import FeatureUsage
from ..usage.instancetypes import InstancetypeUsage
from .api.causes import CausesView
from .api.drain import DrainPage, DrainView
from .api.features import FeaturesView
from .api.findings import Findings
from .api.impact import ImpactPage, ImpactView
from .api.instancetypes import InstancetypesView
from .api.migrations import MigrationsView
from .api.networks import NetworksView
from .api.scrape import Scrape
from .api.vm import VMView
from .application import Routes
from .html.rendering import prepare
from .page.page import HtmlPage, stylesheet
from .page.runbooks import Runbooks
from .reports.listing import Listings
from .reports.result_cache import Versions
from .server.descriptors import most_connections

__all__ = ["FOR_TENANTS", "routes"]

FOR_TENANTS = (
    "/",
    "/api/v1/causes",
    "/api/v1/findings",
    "/api/v1/migrations",
    "/runbooks/",
    "/runbooks/{name}",
    "/style.css",
)
"""The paths that answer a tenant with what is theirs. A new path is for those who see everything."""


def routes(
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
) -> Routes:
    """`paging` says of a reason, CHECK/REASON, that has critical findings why they do not page; empty where they do."""
    prepare()
    instance = secrets.token_hex(4)
    networks = NetworksView(engine, aggregates.of(AddressUsage), versions, instance)
    instancetypes = InstancetypesView(engine, aggregates.of(InstancetypeUsage), versions, instance)
    features = FeaturesView(engine, aggregates.of(FeatureUsage), versions, instance)
    drain = DrainView(engine, versions, instance)
    impact = ImpactView(engine, versions, instance)
    migrations = MigrationsView(engine, failures, instance)
    runbooks = Runbooks(title)
    page = HtmlPage(engine, title, config, listings, networks, instancetypes, features, drain, migrations, paging)
    return {
        "/": page.handle,
        "/drain": DrainPage(drain, title).handle,
        "/impact": ImpactPage(impact, title).handle,
        "/runbooks/": runbooks.every,
        "/runbooks/{name}": runbooks.one,
        "/style.css": stylesheet,
        "/metrics": Scrape(exposition, registry, served).handle,
        # Half of the connections may wait: the other half is for whoever asks now.
        "/api/v1/findings": Findings(engine, listings, instance, most_connections() // 2).handle,
        "/api/v1/causes": CausesView(engine, listings, instance).handle,
        "/api/v1/migrations": migrations.handle,
        "/api/v1/networks": networks.handle,
        "/api/v1/instancetypes": instancetypes.handle,
        "/api/v1/features": features.handle,
        "/api/v1/drain": drain.handle,
        "/api/v1/impact": impact.handle,
        "/api/v1/vms/{namespace}/{name}": VMView(engine, versions, instance).handle,
    }
