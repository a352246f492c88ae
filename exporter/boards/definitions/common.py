"""The variables that boards share, and the checks of each area."""

from __future__ import annotations

from ... import runbook
from ..model import Variable

__all__ = [
    "CLUSTERS",
    "EVICTIONS",
    "FEATURES",
    "IDENTITY",
    "INSTANCETYPES",
    "LINKS",
    "NAMESPACES",
    "NETWORKS",
    "VARIABLES",
]

FINDINGS = '__name__=~"kubevirt_.+", check=~".+", kind=~".+"'
CLUSTERS = Variable("cluster", "Cluster", "kubevirt_steward_build_info", "cluster", several=True)
NAMESPACES = Variable("namespace", "Namespace", f'{{{FINDINGS}, cluster=~"$cluster"}}', "namespace", several=True)
LINKS = (
    Variable("steward", "URL of the steward's page", default="http://localhost:9877"),
    Variable("runbooks", "URL of the runbooks", default=f"{runbook.links()}/", hidden=True),
)
VARIABLES = (CLUSTERS, NAMESPACES, *LINKS)

IDENTITY = ("firmware_duplicates", "firmware_vms", "firmware_serials", "firmware_templates", "node_identity")
NETWORKS = ("ipam_claims", "ipam_vms", "ipam_networks", "ipam_namespaces", "ipam_stack")
EVICTIONS = ("evictions", "eviction_pdbs", "eviction_stack", "eviction_stops")
FEATURES = (
    "feature_configuration",
    "feature_ground",
    "feature_mismatch",
    "feature_nodes",
    "feature_storage",
    "feature_templates",
)
INSTANCETYPES = (
    "instancetype_vms",
    "instancetype_objects",
    "instancetype_revisions",
    "instancetype_pools",
    "instancetype_presets",
)
