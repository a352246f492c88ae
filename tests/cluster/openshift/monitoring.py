"""Which ServiceMonitors and rules a Prometheus takes, by the fields of its object, as Prometheus Operator checks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.case_files import read_yaml
from tests.manifests import Object

__all__ = ["USER_WORKLOAD", "skipped"]

USER_WORKLOAD: Object = read_yaml((Path(__file__).parent / "user_workload.yaml").read_text(encoding="utf-8"))
_FILES = ("caFile", "certFile", "keyFile")
_SELECTORS = {
    "ServiceMonitor": ("serviceMonitorNamespaceSelector", "serviceMonitorSelector"),
    "PrometheusRule": ("ruleNamespaceSelector", "ruleSelector"),
}


def skipped(each: Object, namespace: Object, prometheus: Object = USER_WORKLOAD) -> list[str]:
    """Why a ServiceMonitor or a PrometheusRule has no effect; nothing where it has."""
    of_namespace, of_object = (prometheus[name] for name in _SELECTORS[each["kind"]])
    found = [f"namespace: {why}" for why in _unselected(namespace, of_namespace)] + list(_unselected(each, of_object))
    if each["kind"] == "ServiceMonitor" and prometheus["arbitraryFSAccessThroughSMs"]["deny"]:
        for endpoint in each["spec"]["endpoints"]:
            found += [f"{endpoint['port']}: bearerTokenFile"] if endpoint.get("bearerTokenFile") else []
            found += [
                f"{endpoint['port']}: tlsConfig.{name}" for name in _FILES if endpoint.get("tlsConfig", {}).get(name)
            ]
    if each["kind"] == "ServiceMonitor" and prometheus["ignoreNamespaceSelectors"]:
        found += ["namespaceSelector"] if each["spec"].get("namespaceSelector") else []
    return found


def _unselected(each: Object, selector: Object) -> Iterator[str]:
    labels = each["metadata"].get("labels") or {}
    for wanted in selector["matchExpressions"]:
        there = labels.get(wanted["key"]) in wanted["values"]
        if there is not (wanted["operator"] == "In"):
            yield f"label {wanted['key']}={labels.get(wanted['key'], '')}"
