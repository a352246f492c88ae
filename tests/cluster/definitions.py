"""The CRDs that a test cluster has: the real ones where the reference data is, else our own in `crds/`.

Ours have the real names, versions, scopes and subresources, and take any content.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.cluster.client import ApiError, Client
from tests.cluster.resources import CRDS, Resource
from tests.manifests import Object, load_all
from tests.shared import SHARED
from tests.waiting import wait_until

__all__ = ["OURS", "definitions", "install", "real_files"]

OURS = Path(__file__).parent / "crds"
FOLDERS = ("kubevirt", "ipamclaims", "network-attachment-definition-client", "ovn-kubernetes")
GONE = "networks-crd-v1beta1.yaml"  # an API version that servers no longer take


def real_files(folders: tuple[str, ...] = FOLDERS) -> list[Path]:
    """The files of the real CRDs; none without the reference data."""
    if SHARED is None:
        return []
    files = [path for folder in folders for path in sorted((SHARED / "crds" / folder).glob("*.yaml"))]
    return [path for path in files if path.name != GONE]


def definitions() -> list[Object]:
    return [crd for path in real_files() or sorted(OURS.glob("*.yaml")) for crd in load_all(path)]


def install(client: Client, crds: list[Object], timeout: float = 60) -> None:
    """Applies them, and returns when each is served in each of its versions. TimeoutError names the one that is not."""
    for crd in crds:
        client.apply(crd)
    for crd in crds:
        name = crd["metadata"]["name"]
        wait_until(partial(_established, client, name), timeout, f"{name} is established")
        for resource in _served(crd):
            wait_until(partial(_lists, client, resource), timeout, f"{resource} can be listed")


def _established(client: Client, name: str) -> bool:
    conditions = client.get(CRDS, None, name).get("status", {}).get("conditions", [])
    return any(row["type"] == "Established" and row["status"] == "True" for row in conditions)


def _served(crd: Object) -> list[Resource]:
    spec = crd["spec"]
    return [Resource(spec["group"], row["name"], spec["names"]["plural"]) for row in spec["versions"] if row["served"]]


def _lists(client: Client, resource: Resource) -> bool:
    """False for the moments in which an established kind answers 404, 429 or 503."""
    try:
        client.list(resource, limit=1)
    except ApiError as err:
        if err.code in (404, 429, 503):
            return False
        raise
    return True
