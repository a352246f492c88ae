"""An exporter as it is written on an afternoon: the official client, a watch for each kind, a gauge for each object.

It decides nothing: what is wrong is left to queries over its series.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator
from typing import Any

from kubernetes import client, config, watch
from prometheus_client import Gauge, start_http_server

from bench.fleet.changes import LABEL

Labels = tuple[str, ...]
_PAGE = 500


class Kept:
    """The sample of each object of a kind; `labels_of` reads one as the client gives it."""

    def __init__(self, name: str, labels: Labels, labels_of: Callable[[Any], Labels]) -> None:
        self._gauge = Gauge(name, f"One for each object: {name}.", labels)
        self._labels_of = labels_of
        self._held: dict[str, Labels] = {}

    def take(self, uid: str, obj: Any, *, deleted: bool = False) -> None:
        before = self._held.pop(uid, None)
        now = None if deleted else self._labels_of(obj)
        if before is not None and before != now:
            self._gauge.remove(*before)
        if now is not None:
            self._held[uid] = now
            self._gauge.labels(*now).set(1)


class Custom:
    """A custom resource: objects are dicts."""

    def __init__(self, group: str, version: str, plural: str) -> None:
        self._of = {"group": group, "version": version, "plural": plural}
        self._list = client.CustomObjectsApi().list_cluster_custom_object

    def pages(self) -> Iterator[tuple[list[Any], str]]:
        token = None
        while True:
            page = self._list(**self._of, limit=_PAGE, **({"_continue": token} if token else {}))
            yield page["items"], page["metadata"]["resourceVersion"]
            token = page["metadata"].get("continue")
            if not token:
                return

    def events(self, version: str) -> Iterator[tuple[str, Any]]:
        for event in watch.Watch().stream(self._list, **self._of, resource_version=version):
            yield event["type"], event["object"]

    @staticmethod
    def uid(obj: Any) -> str:
        return str(obj["metadata"]["uid"])


class Core:
    """A kind of the core: objects are the client's models."""

    def __init__(self, lists: str) -> None:
        self._list = getattr(client.CoreV1Api(), lists)

    def pages(self) -> Iterator[tuple[list[Any], str]]:
        token = None
        while True:
            page = self._list(limit=_PAGE, **({"_continue": token} if token else {}))
            yield page.items, page.metadata.resource_version
            token = page.metadata._continue
            if not token:
                return

    def events(self, version: str) -> Iterator[tuple[str, Any]]:
        for event in watch.Watch().stream(self._list, resource_version=version):
            yield event["type"], event["object"]

    @staticmethod
    def uid(obj: Any) -> str:
        return str(obj.metadata.uid)


def follow(source: Custom | Core, kept: Kept) -> None:
    version = ""
    for objects, version in source.pages():  # noqa: B007 # the last one is where the watch begins
        for obj in objects:
            kept.take(source.uid(obj), obj)
    while True:
        for kind, obj in source.events(version):
            kept.take(source.uid(obj), obj, deleted=kind == "DELETED")
            version = obj["metadata"]["resourceVersion"] if isinstance(obj, dict) else obj.metadata.resource_version


def _place(obj: Any) -> Labels:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _condition(conditions: Any, name: str) -> str:
    return next((str(each["status"]) for each in conditions or () if each["type"] == name), "")


def _vm(obj: Any) -> Labels:
    firmware = obj["spec"]["template"]["spec"]["domain"].get("firmware", {})
    return (*_place(obj), obj["status"].get("printableStatus", ""), firmware.get("uuid", ""))


def _vmi(obj: Any) -> Labels:
    status = obj["status"]
    able = _condition(status.get("conditions"), "LiveMigratable")
    return (
        *_place(obj),
        status.get("phase", ""),
        status.get("nodeName", ""),
        status.get("evacuationNodeName", ""),
        able,
    )


def _claim(obj: Any) -> Labels:
    meta = obj["metadata"]
    return (*_place(obj), obj["spec"]["network"], ",".join(obj["status"]["ips"]), meta.get("labels", {}).get(LABEL, ""))


def _pod(obj: Any) -> Labels:
    ready = next((each.status for each in obj.status.conditions or () if each.type == "Ready"), "")
    return (obj.metadata.namespace, obj.metadata.name, obj.spec.node_name or "", obj.status.phase, ready)


def _node(obj: Any) -> Labels:
    return (obj.metadata.name, str(bool(obj.spec.unschedulable)))


def sources() -> Iterator[tuple[Custom | Core, Kept]]:
    place = ("namespace", "name")
    yield Custom("kubevirt.io", "v1", "virtualmachines"), Kept("naive_vm", (*place, "status", "uuid"), _vm)
    yield (
        Custom("kubevirt.io", "v1", "virtualmachineinstances"),
        Kept("naive_vmi", (*place, "phase", "node", "evacuation", "migratable"), _vmi),
    )
    yield (
        Custom("k8s.cni.cncf.io", "v1alpha1", "ipamclaims"),
        Kept("naive_claim", (*place, "network", "ips", "vm"), _claim),
    )
    yield Custom("k8s.cni.cncf.io", "v1", "network-attachment-definitions"), Kept("naive_nad", place, _place)
    yield Core("list_pod_for_all_namespaces"), Kept("naive_pod", (*place, "node", "phase", "ready"), _pod)
    yield Core("list_node"), Kept("naive_node", ("name", "cordoned"), _node)
    yield Core("list_namespace"), Kept("naive_namespace", ("name",), lambda obj: (obj.metadata.name,))


def main(kubeconfig: str, port: int) -> None:
    config.load_kube_config(kubeconfig)
    start_http_server(port, "127.0.0.1")
    threads = [threading.Thread(target=follow, args=each) for each in sources()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig")
    parser.add_argument("port", type=int)
    main(**vars(parser.parse_args()))
