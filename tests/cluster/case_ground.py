"""The objects of cases on a real API server, with the UIDs, times and deletions that it gives them."""

from __future__ import annotations

from tests.cluster.client import Client
from tests.cluster.resources import Resource
from tests.evaluation import api_kinds
from tests.manifests import Object
from tests.repairing import Repairing
from tests.rows import CLUSTER_WIDE, full

__all__ = ["NAMESPACES", "CaseGround"]

NAMESPACES = ("ns", "other", "ovn-kubernetes")
_FIRST = ("NetworkAttachmentDefinition", "VirtualMachine", "VirtualMachineInstance")  # what others have the UID of


class CaseGround:
    """The namespaces of the cases on one server: what a case makes is gone after it."""

    def __init__(self, client: Client, made: Repairing) -> None:
        self.client, self.made = client, made
        self._uids: dict[str, str] = {}
        self._there: list[tuple[Resource, str | None, str]] = []

    def make(self, rows: list[Object]) -> list[Object]:
        rows = sorted(rows, key=lambda row: _FIRST.index(row["kind"]) if row["kind"] in _FIRST else len(_FIRST))
        return [self._made(row) for row in rows if row["kind"] != "Namespace"]

    def _made(self, row: Object) -> Object:
        obj = full(row)
        meta = obj["metadata"]
        for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
            meta.pop(field, None)
        uid = meta.pop("uid")
        for place, owner in enumerate(meta.get("ownerReferences") or ()):
            owner["uid"] = self._uids.get(owner["uid"], owner["uid"])
            owner["controller"] = not place  # the API server takes one
        found = api_kinds()[obj["kind"]]
        group, _, version = obj["apiVersion"].rpartition("/")
        namespace = None if obj["kind"] in CLUSTER_WIDE else meta["namespace"]
        resource = Resource(group, version, found.plural)
        self._there.append((resource, namespace, meta["name"]))
        if obj["kind"] == "IPAMClaim":
            _as_the_schema_has_it(obj.setdefault("status", {}))
        made = self.client.make(obj)
        self._uids[uid] = made["metadata"]["uid"]
        if row.get("deleting"):
            self.client.delete(resource, namespace, meta["name"])
            made = self.client.get(resource, namespace, meta["name"])
        return made

    def clear(self) -> None:
        for resource, namespace, name in reversed(self._there):
            if self.client.find(resource, namespace, name) is not None:
                self.client.patch(resource, namespace, name, {"metadata": {"finalizers": None}})
                self.client.remove(resource, namespace, name)

    def versions(self) -> list[tuple[str, str]]:
        found = (self.client.find(*place) for place in self._there)
        return [(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in found if each is not None]


def _as_the_schema_has_it(status: Object) -> None:
    status["ips"] = status.get("ips") or []
    for each in status.get("conditions") or ():
        each.setdefault("message", "")
