"""The objects of a test's namespaces as they would be months later, and what is looked at for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.cluster.client import Client
from tests.cluster.resources import Resource
from tests.evaluation import api_kinds
from tests.manifests import Object
from tests.rows import CLUSTER_WIDE, CREATED, DELETED

__all__ = ["CLUSTER_WIDE", "KINDS", "aged", "objects"]

_INSTALLED = {"instancetype.kubevirt.io": "v1beta1"}  # by CRDs that serve another version than the one preferred
KINDS = {
    name: Resource(kind.group, _INSTALLED.get(kind.group, kind.versions[0]), kind.plural)
    for name, kind in api_kinds().items()
}
"""All that the checks and the views read, and where it is."""


def objects(client: Client, kind: str, resource: Resource, namespace: str) -> Iterable[Object]:
    """Those of the test: in its namespace and its neighbours, or with their names."""
    everywhere: list[Object] = client.list(resource)["items"]
    of = "name" if kind in CLUSTER_WIDE else "namespace"
    ours = (namespace, f"{namespace}-other", f"{namespace}-third")
    return [obj for obj in everywhere if obj["metadata"][of] in ours]


def aged(obj: Object) -> Object:
    meta: dict[str, Any] = {**obj["metadata"], "creationTimestamp": CREATED}
    if "deletionTimestamp" in meta:
        meta["deletionTimestamp"] = DELETED
    return {**obj, "metadata": meta}
