"""The ways to install the steward: each as a kustomization of deploy/overlays, and as values of the chart.

`kustomized` and `charted` give the objects that `kubectl apply -k` and `helm install` would send.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.manifests import Loader, Object
from tests.shared import REPO

__all__ = ["CHART", "NAMESPACE", "VARIANTS", "charted", "kustomized"]

CHART = REPO / "deploy/helm/kubevirt-steward"
NAMESPACE = "kubevirt-steward"

_OPERATOR = {"kind": "prometheusOperator", "dashboards": "grafana"}
_OPENSHIFT = {"openshift": True, "monitoring": {"kind": "prometheusOperator", "dashboards": "console"}}
VARIANTS: dict[str, Mapping[str, Any]] = {
    "base": {},
    "overlays/cert-manager": {"certificates": "certManager", "monitoring": _OPERATOR},
    "overlays/ha": {"replicas": 2},
    "overlays/openshift": _OPENSHIFT,
    "overlays/openshift-repairs": {**_OPENSHIFT, "reconcile": {"enabled": True}},
    "overlays/openshift-user": {"openshift": True, "monitoring": {"kind": "openshiftUser"}},
    "overlays/prometheus-operator": {"monitoring": _OPERATOR},
    "overlays/repairs": {"certificates": "certManager", "reconcile": {"enabled": True}},
    "overlays/repairs-one-pod": {"reconcile": {"enabled": True, "onePod": True}},
    "overlays/vanilla-prometheus": {
        "monitoring": {"kind": "prometheus", "prometheus": {"namespace": "monitoring", "serviceAccount": "prometheus"}}
    },
}


def kustomized(kubectl: Path, folder: Path) -> list[Object]:
    return _objects(_made(kubectl, folder))


@cache
def _made(kubectl: Path, folder: Path) -> str:
    return _output(kubectl, "kustomize", folder)


def charted(helm: Path, values: Mapping[str, Any], folder: Path, namespace: str = NAMESPACE) -> list[Object]:
    """`folder` is for the file of values."""
    file = folder / "values.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    return _objects(_output(helm, "template", "steward", CHART, "--namespace", namespace, "--values", file))


def _output(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def _objects(text: str) -> list[Object]:
    return [each for each in yaml.load_all(text, Loader=Loader) if each]
