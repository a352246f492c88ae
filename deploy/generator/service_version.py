"""The ClusterServiceVersion of the bundle: what a catalog shows of the steward, what it may do, and its Deployment."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import yaml

from .release import dates

__all__ = ["SCRAPER", "csv"]

Object = dict[str, Any]

# Whose token Prometheus has. OLM makes other ServiceAccounts after the bundle's Secrets, and Kubernetes deletes at once
# a Secret for the token of a ServiceAccount that is not there. `default` is in every namespace.
SCRAPER = "default"

_NAME = "kubevirt-steward"
_BASE = "deploy/base/exporter"
_SOURCE = "https://github.com/kubevirt-steward/kubevirt-steward"
_FIRST = "2026-11-25"  # of the bundle, until there is a release
_SUMMARY = "Reports what is wrong with the VMs of a KubeVirt cluster, and how to repair it"
_DESCRIPTION = """\
Watches a KubeVirt cluster and reports what is wrong with its VMs and how to repair it: IPAMClaims that hold addresses
for nobody, shared firmware UUIDs, blocked evictions and drains, features that KubeVirt refuses, lost instancetypes.
It writes nothing to the cluster. Metrics, alerts with runbooks, a page and a JSON API, for those whom RBAC allows it.

Install it into the namespace `kubevirt-steward`, with cluster monitoring enabled for it.
"""
_FEATURES = {
    "disconnected": True,  # it asks the API server and nobody else
    "fips-compliant": False,
    "proxy-aware": False,
    "tls-profiles": False,
    "token-auth-aws": False,
    "token-auth-azure": False,
    "token-auth-gcp": False,
    "cnf": False,
    "cni": False,
    "csi": False,
}


def csv(read: Callable[[str], str], version: str, release: dict[str, str], deployment: Object) -> Object:
    image = f"{_NAME}:{version}"
    released = dates(read("CHANGELOG.md"))
    before = [each for each in released if each != version]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{_NAME}.v{version}",
            "labels": release,
            "annotations": _annotations(image, f"{released.get(version, _FIRST)}T00:00:00Z", version),
        },
        "spec": {
            "displayName": "KubeVirt steward",
            "description": _DESCRIPTION,
            "version": version,
            **({"replaces": f"{_NAME}.v{before[0]}"} if before else {}),
            "minKubeVersion": "1.33.0",
            "maturity": "alpha",
            "provider": {"name": _NAME, "url": _SOURCE},
            "maintainers": [{"name": "kubevirt-steward maintainers", "email": "maintainers@kubevirt-steward.io"}],
            "keywords": ["kubevirt", "virtualization", "monitoring", "alerting"],
            "links": [
                {"name": "Source", "url": _SOURCE},
                {"name": "Documentation", "url": f"{_SOURCE}/tree/main/docs"},
            ],
            "icon": [{"base64data": _encoded(read("deploy/generator/icon.svg")), "mediatype": "image/svg+xml"}],
            "relatedImages": [{"name": "steward", "image": image}],
            "installModes": [
                {"type": mode, "supported": mode in ("OwnNamespace", "AllNamespaces")}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": [
                        {
                            "serviceAccountName": "steward-exporter",
                            "rules": [
                                *_rules(read, "clusterrole", "steward-exporter"),
                                *_rules(read, "access", "steward-access"),
                            ],
                        },
                        {"serviceAccountName": SCRAPER, "rules": _rules(read, "access", "steward-metrics-reader")},
                    ],
                    "deployments": [
                        {
                            "name": "steward-exporter",
                            "label": deployment["metadata"]["labels"],
                            "spec": deployment["spec"],
                        }
                    ],
                },
            },
        },
    }


def _annotations(image: str, created: str, version: str) -> dict[str, str]:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": _NAME, "labels": {"openshift.io/cluster-monitoring": "true"}},
    }
    return {
        "categories": "Monitoring",
        "capabilities": "Basic Install",
        "certified": "false",
        "containerImage": image,
        "createdAt": created,
        "description": _SUMMARY,
        "olm.skipRange": f">=0.0.0 <{version}",
        "operatorframework.io/cluster-monitoring": "true",
        "operatorframework.io/suggested-namespace": _NAME,
        "operatorframework.io/suggested-namespace-template": json.dumps(namespace),
        "repository": _SOURCE,
        "support": _SOURCE,
        **{f"features.operators.openshift.io/{name}": str(has).lower() for name, has in _FEATURES.items()},
    }


def _encoded(text: str) -> str:
    return base64.b64encode(text.strip().encode()).decode()


def _rules(read: Callable[[str], str], file: str, role: str) -> list[Object]:
    return [
        rule
        for each in yaml.load_all(read(f"{_BASE}/{file}.yaml"), Loader=yaml.CSafeLoader)
        if each and each["kind"] == "ClusterRole" and each["metadata"]["name"] == role
        for rule in each["rules"]
    ]
