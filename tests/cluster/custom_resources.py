"""The CRDs that a test cluster has: those of KubeVirt and of the networks as they are published, else our own.

Ours, in `crds/`, have the real names, versions, scopes and subresources, and take any content. With `CRDS=loose` they
are all there is: then what is stored is what no schema has pruned or refused.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from tests.cluster.client import ApiError, Client
from tests.cluster.resources import CRDS, Resource
from tests.manifests import Object, load_all
from tests.tools.crds import published, schemas
from tests.waiting import wait_until

__all__ = ["NETWORKS", "OURS", "crds", "install", "loose", "strict"]

OURS = Path(__file__).parent / "crds"
NETWORKS = ("ipamclaims", "network-attachment-definition-client", "ovn-kubernetes")


def crds() -> list[Object]:
    """Those that the environment asks for. Raises ToolMissing where they can't be had."""
    return loose() if os.environ.get("CRDS") == "loose" else strict()


def strict() -> list[Object]:
    """As they are published, as far as they are. Raises ToolMissing."""
    real = {crd["metadata"]["name"]: crd for crd in published(*NETWORKS)}
    return [real.get(crd["metadata"]["name"]) or _of_kubevirt(crd) for crd in loose()]


def loose() -> list[Object]:
    """Those in `crds/`."""
    return [crd for path in sorted(OURS.glob("*.yaml")) for crd in load_all(path)]


def _of_kubevirt(crd: Object) -> Object:
    """With KubeVirt's schema, which is the same in all versions of a kind; as it is for what is not KubeVirt's."""
    spec = crd["spec"]
    schema = schemas().get(spec["names"]["singular"]) if spec["group"].endswith("kubevirt.io") else None
    if schema is None:
        return crd
    versions = [{**version, "schema": {"openAPIV3Schema": schema}} for version in spec["versions"]]
    return {**crd, "spec": {**spec, "versions": versions}}


def install(client: Client, crds: list[Object], timeout: float = 120) -> None:
    """Adds those that are not there, and waits until each is established, and can be listed if it is one of ours too.

    A kind's first list makes the server prepare it, which for the large ones takes seconds: hence not for all.
    Raises TimeoutError, with the name of the one that is not there in time.
    """
    for crd in crds:
        if client.find(CRDS, None, crd["metadata"]["name"]) is None:
            client.create(crd)  # an apply takes the server twice as long
    for crd in crds:
        name = crd["metadata"]["name"]
        wait_until(partial(_established, client, name), timeout, f"{name} is established")
        if not (OURS / f"{crd['spec']['names']['plural']}.yaml").exists():
            continue
        for resource in _served(crd):
            wait_until(partial(_lists, client, resource), timeout, f"{resource} can be listed")


def _established(client: Client, name: str) -> bool:
    conditions = client.get(CRDS, None, name).get("status", {}).get("conditions") or ()
    return any(row["type"] == "Established" and row["status"] == "True" for row in conditions)


def _served(crd: Object) -> list[Resource]:
    spec = crd["spec"]
    plural = spec["names"]["plural"]
    return [Resource(spec["group"], row["name"], plural) for row in spec["versions"] if row["served"]]


def _lists(client: Client, resource: Resource) -> bool:
    """False for the moments in which an established kind answers 404, 429 or 503."""
    try:
        client.list(resource, limit=1)
    except ApiError as err:
        if err.code in (404, 429, 503):
            return False
        raise
    return True
