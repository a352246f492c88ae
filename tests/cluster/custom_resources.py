"""The CRDs that a test cluster has: the real ones where the reference data has them, else our own in `crds/`.

Ours have the real names, versions, scopes and subresources, and take any content.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster.client import ApiError, Client
from tests.cluster.resources import CRDS, Resource
from tests.manifests import Object, load_all
from tests.shared import SHARED
from tests.waiting import wait_until

__all__ = ["OURS", "crds", "install", "loose", "real_files"]

OURS = Path(__file__).parent / "crds"
FOLDERS = ("kubevirt", "ipamclaims", "network-attachment-definition-client", "ovn-kubernetes")
GONE = "networks-crd-v1beta1.yaml"  # an API version that servers no longer take


def real_files(folders: tuple[str, ...] = FOLDERS) -> list[Path]:
    """The files of the real CRDs; none without the reference data."""
    if SHARED is None:
        return []
    files = [path for folder in folders for path in sorted((SHARED / "crds" / folder).glob("*.yaml"))]
    return [path for path in files if path.name != GONE]


def crds() -> list[Object]:
    """Descriptions are left out: they are two thirds of what the server would read, and bind nobody."""
    real = [crd for path in real_files() for crd in load_all(path)]
    known = {crd["metadata"]["name"] for crd in real}
    return [
        _without_descriptions(crd)
        for crd in (*real, *(each for each in loose() if each["metadata"]["name"] not in known))
    ]


def loose() -> list[Object]:
    """Ours."""
    return [crd for path in sorted(OURS.glob("*.yaml")) for crd in load_all(path)]


def _without_descriptions(node: Any) -> Any:
    """A description is text; a property of that name is a schema, and stays."""
    if isinstance(node, list):
        return [_without_descriptions(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_descriptions(value)
        for key, value in node.items()
        if key != "description" or not isinstance(value, str)
    }


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
