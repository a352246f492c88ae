"""The bundle for Operator Lifecycle Manager: the exporter of deploy/base. The sidecar is not in it: it needs a volume.

OLM makes the Deployment, the ServiceAccount and what binds it from the ClusterServiceVersion, and applies the other
manifests as they are. It puts them into the namespace of the subscription.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from .release import LABELS

__all__ = ["BUNDLE", "files"]

BUNDLE = "deploy/olm"
Object = dict[str, Any]

_NAME = "kubevirt-steward"
_BASE = "deploy/base/exporter"
_MONITORED = "deploy/components/prometheus-operator"
_ANNOTATIONS = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": _NAME,
    "operators.operatorframework.io.bundle.channels.v1": "alpha",
    "operators.operatorframework.io.bundle.channel.default.v1": "alpha",
}
_DESCRIPTION = """\
Watches a KubeVirt cluster and reports what is wrong with its VMs and how to repair it: IPAMClaims that hold addresses
for nobody, shared firmware UUIDs, blocked evictions and drains, features that KubeVirt refuses, lost instancetypes.
It writes nothing to the cluster. Metrics, alerts with runbooks, a page and a JSON API, for those whom RBAC allows it.
"""


def files(read: Callable[[str], str], version: str, note: str) -> dict[str, str]:
    """The text of each file of the bundle by its path."""
    release = LABELS | {"app.kubernetes.io/version": version}
    applied = [_labelled(each, release) for each in _applied(read)]
    names = {f"{each['metadata']['name']}.{each['kind'].lower()}.yaml": each for each in applied}
    made = {f"manifests/{name}": _yaml(each) for name, each in names.items()}
    made[f"manifests/{_NAME}.clusterserviceversion.yaml"] = _yaml(_csv(read, version, release))
    made["metadata/annotations.yaml"] = _yaml({"annotations": _ANNOTATIONS})
    made["bundle.Containerfile"] = "\n".join(
        [
            "FROM scratch",
            *(f"LABEL {key}={value}" for key, value in _ANNOTATIONS.items()),
            "COPY manifests /manifests/",
            "COPY metadata /metadata/\n",
        ]
    )
    return {f"{BUNDLE}/{path}": f"# {note}\n{text}" for path, text in made.items()}


def _applied(read: Callable[[str], str]) -> Iterator[Object]:
    """What OLM applies as it is. Not the NetworkPolicy: releases of OLM before 2025 refuse a bundle that has one."""
    yield from _objects(read(f"{_BASE}/service.yaml"))
    for each in _objects(read(f"{_BASE}/access.yaml")):
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] != "steward-access":  # that is in the CSV
            yield each
    yield from _objects(read(f"{_MONITORED}/prometheus.yaml"))
    yield from _objects(read(f"{_MONITORED}/rules.yaml"))
    yield from _objects(read(f"{_MONITORED}/servicemonitor.yaml"))
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "steward-exporter", "labels": {"app.kubernetes.io/name": "steward-exporter"}},
        "data": {"config.yaml": read(f"{_BASE}/config.yaml")},
    }


def _csv(read: Callable[[str], str], version: str, release: dict[str, str]) -> Object:
    (deployment,) = _objects(read(f"{_BASE}/deployment.yaml"))
    _labelled(deployment, release)
    template = deployment["spec"]["template"]
    _labelled(template, release)
    image = f"{_NAME}:{version}"
    for container in (*template["spec"]["initContainers"], *template["spec"]["containers"]):
        container["image"] = image
    rules = [
        rule
        for file in ("clusterrole", "access")
        for each in _objects(read(f"{_BASE}/{file}.yaml"))
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] in ("steward-exporter", "steward-access")
        for rule in each["rules"]
    ]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{_NAME}.v{version}",
            "annotations": {
                "categories": "Monitoring",
                "capabilities": "Basic Install",
                "containerImage": image,
                "operatorframework.io/suggested-namespace": _NAME,
                "repository": "https://github.com/kubevirt-steward/kubevirt-steward",
            },
        },
        "spec": {
            "displayName": "KubeVirt steward",
            "description": _DESCRIPTION,
            "version": version,
            "minKubeVersion": "1.33.0",
            "maturity": "alpha",
            "provider": {"name": _NAME},
            "keywords": ["kubevirt", "monitoring"],
            "links": [{"name": "Source", "url": "https://github.com/kubevirt-steward/kubevirt-steward"}],
            "installModes": [
                {"type": mode, "supported": mode in ("OwnNamespace", "AllNamespaces")}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": [{"serviceAccountName": "steward-exporter", "rules": rules}],
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


def _objects(text: str) -> list[Object]:
    return [each for each in yaml.safe_load_all(text) if each]


def _labelled(each: Object, release: dict[str, str]) -> Object:
    """With the labels of the release; without a namespace, which OLM gives."""
    metadata = each["metadata"]
    metadata.pop("namespace", None)
    metadata["labels"] = {**release, **metadata.get("labels", {})}
    return each


class _Dumper(yaml.SafeDumper):
    """Writes what occurs twice twice: no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _yaml(document: Object) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
