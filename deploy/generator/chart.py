"""The generated files of the Helm chart: its Chart.yaml, its rules, and copies of what its templates take.

A chart holds all it needs: Helm reads nothing outside its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from . import rule_values

__all__ = ["CHART", "files"]

CHART = "deploy/helm/kubevirt-steward"
_COPIED = (
    *(f"base/exporter/{name}" for name in ("access", "clusterrole", "clusterrolebinding", "networkpolicy", "service")),
    *("base/exporter/serviceaccount", "base/tenant/role", "components/cert-manager/certificates", "components/ha/pdb"),
    *(f"components/certificate/{name}" for name in ("job", "secret", "writer")),
    *("components/openshift/common/service-ca", "components/prometheus-operator/prometheus"),
    *(f"components/prometheus-operator/scrape/{name}" for name in ("scraper", "servicemonitor")),
    *(f"components/vanilla-prometheus/{name}" for name in ("prometheus", "scrape")),
    *(f"components/reconcile/sidecar/{name}" for name in ("bindings", "ledger", "serviceaccount")),
    *(f"components/reconcile/pod/{name}" for name in ("bindings", "certificate", "networkpolicy", "reconcile")),
    "components/reconcile/pod/service",
    *(f"components/reconcile-one-pod/sidecar/{name}" for name in ("bindings", "reconcile")),
)
_RULES = {"prometheusrule": False, "openshift-user": True}  # formats, and whether Prometheus sets the label namespace
_FOLDERS = ("dashboards/grafana/", "dashboards/console/")


def files(read: Callable[[str], str], version: str, boards: Iterable[str], note: str) -> dict[str, str]:
    """The text of each by its path. The roles of the sidecar are put there by `docs.generator.sidecar`."""
    made = {f"{CHART}/Chart.yaml": _chart(version, note)}
    for name, exported in _RULES.items():
        made[f"{CHART}/files/rules/{name}.json"] = rule_values.with_placeholders(name, note, exported=exported)
    for name in _COPIED:
        made[f"{CHART}/files/{name}.yaml"] = _copy(read(f"deploy/{name}.yaml"), note)
    for path in boards:
        if path.startswith(_FOLDERS):
            made[f"{CHART}/files/{path}"] = read(path)
    return made


def _copy(text: str, note: str) -> str:
    return text if note in text else f"# {note}\n{text}"


def _chart(version: str, note: str) -> str:
    return f"""\
# {note}
apiVersion: v2
name: kubevirt-steward
description: Sees, explains, alerts on and repairs drift in KubeVirt fleets
type: application
version: {version}
appVersion: "{version}"
kubeVersion: ">=1.33.0-0"
home: https://github.com/kubevirt-steward/kubevirt-steward
keywords: [kubevirt, kubernetes, prometheus, exporter]
annotations: {{artifacthub.io/license: Apache-2.0}}
"""
