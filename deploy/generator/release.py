"""The release that manifests are of. pyproject.toml is the one place that says it."""

from __future__ import annotations

import re
import tomllib

__all__ = ["LABELS", "component", "dates", "version"]

LABELS = {"app.kubernetes.io/part-of": "kubevirt-steward"}


def version(pyproject: str) -> str:
    """The version by the text of pyproject.toml."""
    return str(tomllib.loads(pyproject)["project"]["version"])


def dates(changelog: str) -> dict[str, str]:
    """The date of each release by its version, the newest first: `## 1.2.3 - 2026-01-31` (docs/releasing.md)."""
    return dict(re.findall(r"^## (\d+\.\d+\.\S+) - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE))


def component(release: str, note: str) -> str:
    """The kustomize component that gives every object the labels of the release, and images its tag."""
    pairs = ", ".join(f"{key}: {value}" for key, value in LABELS.items())
    return f"""\
# {note} The release that these manifests are of, from pyproject.toml.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels:
  - pairs: {{{pairs}, app.kubernetes.io/version: "{release}"}}
    includeTemplates: true
images:
  - {{name: kubevirt-steward, newTag: "{release}"}}
"""
