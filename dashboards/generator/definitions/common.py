"""The variables that boards share, and the checks of each area."""

from __future__ import annotations

from exporter import runbook
from exporter.checks import areas
from exporter.findings.check import PER_FLEET
from exporter.rules.alerts.hub import REPLICAS

from ..links import PAGE
from ..model import Variable

__all__ = [
    "CLUSTERS",
    "DRAINS",
    "FEATURES",
    "IDENTITY",
    "INSTANCETYPES",
    "LINKS",
    "NAMESPACES",
    "NETWORKS",
    "VARIABLES",
]

FINDINGS = '__name__=~"kubevirt_.+", check=~".+", kind=~".+"'
_STEWARDS = f'{{__name__=~"kubevirt_steward_build_info|{REPLICAS}"}}'  # a hub may have nothing but the latter
CLUSTERS = Variable("cluster", "Cluster", _STEWARDS, "cluster", several=True)
NAMESPACES = Variable("namespace", "Namespace", f'{{{FINDINGS}, cluster=~"$cluster"}}', "namespace", several=True)
LINKS = (
    Variable(PAGE, "URL of the steward's web UI, {cluster} for the cluster's name", default="https://localhost:9877"),
    Variable("runbooks", "URL of the runbooks", default=f"{runbook.links()}/", hidden=True),
)
VARIABLES = (CLUSTERS, NAMESPACES, *LINKS)

DRAINS, FEATURES, IDENTITY, INSTANCETYPES, NETWORKS = (
    tuple(check.id for check in areas()[name] if check.scope is not PER_FLEET)  # Prometheus finds these in states
    for name in ("drains", "features", "identity", "instancetypes", "networks")
)
