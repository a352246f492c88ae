"""The bundle for Operator Lifecycle Manager: what overlay openshift has of the exporter. The sidecar needs a volume.

OLM makes the Deployment, the ServiceAccount and what binds it from the ClusterServiceVersion, and applies the other
manifests as they are. It puts them into the namespace of the subscription.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from .release import LABELS
from .service_version import SCRAPER, csv

__all__ = ["BUNDLE", "files"]

BUNDLE = "artifacts/olm"
Object = dict[str, Any]

_NAME = "kubevirt-steward"
_BASE = "deploy/base/exporter"
_MONITORED = "deploy/components/prometheus-operator"
_OPENSHIFT = "deploy/components/openshift"
_ANNOTATIONS = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": _NAME,
    "operators.operatorframework.io.bundle.channels.v1": "alpha",
    "operators.operatorframework.io.bundle.channel.default.v1": "alpha",
}


def files(read: Callable[[str], str], version: str, note: str) -> dict[str, str]:
    """The text of each file of the bundle by its path."""
    release = LABELS | {"app.kubernetes.io/version": version}
    applied = [_labelled(each, release) for each in _applied(read)]
    names = {f"{each['metadata']['name']}.{each['kind'].lower()}.yaml": each for each in applied}
    made = {f"manifests/{name}": _yaml(each) for name, each in names.items()}
    made[f"manifests/{_NAME}.clusterserviceversion.yaml"] = _yaml(csv(read, version, release, _pods(read, release)))
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
    (service,) = _objects(read(f"{_BASE}/service.yaml"))
    (certificate,) = _objects(read(f"{_OPENSHIFT}/common/service.yaml"))
    service["metadata"] |= {"annotations": certificate["metadata"]["annotations"]}
    yield service
    for each in _objects(read(f"{_BASE}/access.yaml")):
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] != "steward-access":  # that is in the CSV
            yield each
    (binding,) = _objects(read(f"{_OPENSHIFT}/prometheus.yaml"))
    for each in _objects(read(f"{_MONITORED}/prometheus.yaml")):
        yield each | {"subjects": binding["subjects"]} if each["kind"] == "RoleBinding" else each
    yield from _objects(read(f"{_MONITORED}/rules.yaml"))
    yield from _objects(read(f"{_OPENSHIFT}/common/service-ca.yaml"))
    (monitor,) = _objects(read(f"{_MONITORED}/scrape/servicemonitor.yaml"))
    for operation in yaml.safe_load(read(f"{_OPENSHIFT}/common/servicemonitor.yaml")):
        endpoint = int(operation["path"].removeprefix("/spec/endpoints/").removesuffix("/tlsConfig"))
        monitor["spec"]["endpoints"][endpoint]["tlsConfig"] = operation["value"]
    yield monitor
    (token,) = (each for each in _objects(read(f"{_MONITORED}/scrape/scraper.yaml")) if each["kind"] == "Secret")
    token["metadata"]["annotations"] = {"kubernetes.io/service-account.name": SCRAPER}
    yield token
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "steward-exporter", "labels": {"app.kubernetes.io/name": "steward-exporter"}},
        "data": {"config.yaml": read(f"{_BASE}/config.yaml")},
    }


def _pods(read: Callable[[str], str], release: dict[str, str]) -> Object:
    """The Deployment of deploy/base with what component openshift makes of it."""
    (deployment,) = _objects(read(f"{_BASE}/deployment.yaml"))
    (patch,) = _objects(read(f"{_OPENSHIFT}/common/deployment.yaml"))
    (users,) = _objects(read(f"{_OPENSHIFT}/common/users.yaml"))
    _labelled(deployment, release)
    template = deployment["spec"]["template"]
    _labelled(template, release)
    spec = template["spec"]
    spec["initContainers"] = []
    patched = {each["name"]: each["secret"] for each in patch["spec"]["template"]["spec"]["volumes"]}
    for volume in spec["volumes"]:
        if volume["name"] in patched:
            volume.pop("emptyDir")
            volume["secret"] = patched[volume["name"]]
    for key in users["spec"]["template"]["spec"]["securityContext"]:
        spec["securityContext"].pop(key, None)
    for container in spec["containers"]:
        container["image"] = f"{_NAME}:{release['app.kubernetes.io/version']}"
    return deployment


def _objects(text: str) -> list[Object]:
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]


def _labelled(each: Object, release: dict[str, str]) -> Object:
    """With the labels of the release; without a namespace, which OLM gives."""
    metadata = each["metadata"]
    metadata.pop("namespace", None)
    metadata["labels"] = {**release, **metadata.get("labels", {})}
    return each


class _Dumper(yaml.CSafeDumper):
    """Writes what occurs twice twice: no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _yaml(document: Object) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
