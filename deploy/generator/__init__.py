"""What deploy/ and rules/ have that follows from other files: the release, the chart's copies, the OLM bundle.

The kustomizations in deploy/ are the source, written by hand; the chart's templates take their objects from copies of
the same files, and the bundle is made of them. `read` gives the text of a file by its path from the project's top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from exporter.rules import Values, rule_files
from exporter.rules.formats import document

from . import bundle, chart, release, rule_component

__all__ = ["generated"]


def generated(read: Callable[[str], str], boards: Iterable[str], note: str) -> dict[str, str]:
    """The text of each generated file by its path. `boards` are the paths of all files of dashboards/."""
    version = release.version(read("pyproject.toml"))
    made = {
        "deploy/components/release/kustomization.yaml": release.component(version, note),
        "deploy/components/prometheus-operator/rules.yaml": _rules("prometheusrule", exported=False),
        "deploy/components/openshift-user/rules.yaml": _rules("openshift-user", exported=True),
        "deploy/components/vanilla-prometheus/rules.yaml": _config_map(read, note),
        **rule_component.files(note),
    }

    def current(path: str) -> str:
        return made[path] if path in made else read(path)

    return made | chart.files(current, version, boards, note) | bundle.files(current, version, note)


@cache
def _rules(format_name: str, *, exported: bool) -> str:
    values = Values(exported=exported)
    return document(format_name, rule_files(values), values)


def _config_map(read: Callable[[str], str], note: str) -> str:
    """One ConfigMap with all files of rules/. Not a kustomization there: `rules/*.yaml` are files for Prometheus."""
    lines = [f"# {note}", "apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: kubevirt-steward-rules"]
    lines += ["  labels: {app.kubernetes.io/name: steward-exporter}", "data:"]
    for group in rule_files(Values()):
        text = read(f"rules/{group.name}.yaml").splitlines()
        lines += [f"  {group.name}.yaml: |", *(f"    {line}".rstrip() for line in text)]
    return "\n".join(lines) + "\n"
