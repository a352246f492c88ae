"""What deploy/ and rules/ have that follows from other files: the release, the chart's copies, the OLM bundle.

The kustomizations in deploy/ are the source, written by hand; the chart's templates take their objects from copies of
the same files, and the bundle is made of them. `read` gives the text of a file by its path from the project's top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import yaml

from ..rules import Values, groups
from ..rules.formats import document
from . import bundle, chart, release

__all__ = ["generated"]


def generated(read: Callable[[str], str], boards: Iterable[str], note: str) -> dict[str, str]:
    """The text of each generated file by its path. `boards` are the paths of all files of dashboards/."""
    version = release.version(read("pyproject.toml"))
    rules = document("prometheusrule", groups(Values()), Values())
    files = sorted(f"{group.name}.yaml" for group in groups(Values()))
    made = {
        "deploy/components/release/kustomization.yaml": release.component(version, note),
        "deploy/components/prometheus-operator/rules.yaml": rules,
        "rules/kustomization.yaml": f"# {note}\n{yaml.safe_dump(_rules(files), sort_keys=False, width=118)}",
    }

    def current(path: str) -> str:
        return made[path] if path in made else read(path)

    return made | chart.files(current, version, boards, note) | bundle.files(current, version, note)


def _rules(files: list[str]) -> dict[str, object]:
    """One ConfigMap with all rules, for a Prometheus that reads them as files."""
    options = {"disableNameSuffixHash": True, "labels": {"app.kubernetes.io/name": "steward-exporter"}}
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "configMapGenerator": [{"name": "kubevirt-steward-rules", "files": files, "options": options}],
    }
