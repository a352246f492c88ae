"""A small synchronous client of the API server, for tests to set up and look at a cluster.

Objects are plain dicts. One that says itself what it is (`apiVersion`, `kind`) is sent where discovery says, which is
asked once; anything else is asked for by `Resource`, namespace (None: cluster-wide, or all of them) and name.

Not here: paging, retries, conversion.
"""

from __future__ import annotations

import http.client
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..manifests import Object
from ..waiting import wait_until
from .connection import ApiError, Connection
from .resources import Resource

__all__ = ["VIEW_VMS", "Account", "ApiError", "Client", "account", "view_vms"]


class _Discovered(NamedTuple):
    resource: Resource
    namespaced: bool
    has_status: bool


class Client:
    """Talks to one API server as one user. Close it, or use it in a `with`. Every method raises ApiError."""

    def __init__(self, url: str, ca_file: Path, token: str | None, **how: Any) -> None:
        self.connection = Connection(url, ca_file, token, **how)
        self._discovered: dict[tuple[str, str], _Discovered] = {}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    # Objects that say what they are

    def create(self, obj: Object) -> Object:
        """Creates it. The server drops its status where the kind has a status subresource: see `make`."""
        found = self._discover(obj)
        return self._request("POST", found.resource.path(_namespace(obj, found)), obj)

    def make(self, obj: Object) -> Object:
        """Creates it with the status that it has."""
        made = self.create(obj)
        if "status" not in obj or not self._discover(obj).has_status:
            return made
        return self.update_status({**made, "status": obj["status"]})

    def apply(self, obj: Object, *, manager: str = "tests") -> Object:
        """Server-side apply, by force."""
        query = {"fieldManager": manager, "force": "true"}
        return self._request("PATCH", self._path(obj), obj, query=query, content_type="application/apply-patch+yaml")

    def update(self, obj: Object) -> Object:
        """Replaces it; 409 if it has a resourceVersion and someone wrote since."""
        return self._request("PUT", self._path(obj), obj)

    def update_status(self, obj: Object) -> Object:
        """Replaces its status; the whole object where the kind has no status subresource (a VMI has none)."""
        subresource = "status" if self._discover(obj).has_status else None
        return self._request("PUT", self._path(obj, subresource), obj)

    # Objects asked for

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        return self._request("GET", resource.path(namespace, name))

    def find(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """As get, but None when there is none."""
        try:
            return self.get(resource, namespace, name)
        except ApiError as err:
            if err.code == http.client.NOT_FOUND:
                return None
            raise

    def list(self, resource: Resource, namespace: str | None = None, **query: str | int) -> Object:
        """The list object; `query` as in `labelSelector`, `limit`, `resourceVersion`."""
        return self._request("GET", resource.path(namespace), query=query)

    def watch(
        self, resource: Resource, namespace: str | None = None, **query: str | int
    ) -> Generator[Object, None, None]:
        """The events, until the server ends the watch (`timeoutSeconds`) or the iterator is closed."""
        return self.connection.stream(resource.path(namespace), {"watch": "1", **query})

    def patch(self, resource: Resource, namespace: str | None, name: str, patch: Object | tuple[Object, ...]) -> Object:
        """A merge patch, or a JSON patch when its operations are given as a tuple."""
        kind = "json-patch" if isinstance(patch, tuple) else "merge-patch"
        return self._request("PATCH", resource.path(namespace, name), patch, content_type=f"application/{kind}+json")

    def delete(self, resource: Resource, namespace: str | None, name: str, **options: Any) -> Object:
        """Asks for its deletion; `options` are fields of DeleteOptions, sent in the body, where alone they count."""
        return self._request("DELETE", resource.path(namespace, name), options or None)

    def remove(self, resource: Resource, namespace: str | None, name: str, *, timeout: float = 60) -> None:
        """Deletes it, if it is there, without grace, and waits until it is gone: TimeoutError if finalizers keep it."""
        try:
            self.delete(resource, namespace, name, gracePeriodSeconds=0)
        except ApiError as err:
            if err.code == http.client.NOT_FOUND:
                return
            raise
        what = f"{resource} {namespace or 'cluster-wide'}/{name} is gone"
        wait_until(lambda: self.find(resource, namespace, name) is None, timeout, what)

    def _request(self, method: str, path: str, body: Any = None, **how: Any) -> Object:
        answer: Object = self.connection.request(method, path, body, **how)
        return answer

    def _path(self, obj: Object, subresource: str | None = None) -> str:
        found = self._discover(obj)
        return found.resource.path(_namespace(obj, found), obj["metadata"]["name"], subresource)

    def _discover(self, obj: Object) -> _Discovered:
        """What the server calls objects of this kind. LookupError if it serves none."""
        key = obj["apiVersion"], obj["kind"]
        if key not in self._discovered:
            group, _, version = obj["apiVersion"].rpartition("/")
            served = self._request("GET", Resource(group, version, "").root)["resources"]
            names = {row["name"] for row in served}
            for row in served:
                if "/" not in row["name"]:
                    resource = Resource(group, version, row["name"])
                    has_status = f"{row['name']}/status" in names
                    found = _Discovered(resource, row["namespaced"], has_status)
                    self._discovered[obj["apiVersion"], row["kind"]] = found
        if key not in self._discovered:
            raise LookupError(f"the API server serves no kind {obj['kind']} in {obj['apiVersion']}")
        return self._discovered[key]


def _namespace(obj: Object, found: _Discovered) -> str | None:
    return obj["metadata"].get("namespace", "default") if found.namespaced else None


# ServiceAccounts of a real API server, with tokens as `kubectl create token` gets them, and what they are granted.

RBAC = "rbac.authorization.k8s.io"
VIEW_VMS = "test-view-vms"


@dataclass(frozen=True)
class Account:
    """It is granted things by the admin's client."""

    admin: Client
    namespace: str
    name: str
    token: str

    def grant(self, role: str, namespace: str | None = None) -> str:
        """A ClusterRole, in one namespace or everywhere; the name of the binding."""
        name = f"{role}-{uuid.uuid4().hex[:8]}"
        kind = "ClusterRoleBinding" if namespace is None else "RoleBinding"
        metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
        made: dict[str, Any] = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}
        self.admin.create({**made, "roleRef": reference, "subjects": [subject]})
        return name

    def revoke(self, binding: str, namespace: str | None = None) -> None:
        plural = "clusterrolebindings" if namespace is None else "rolebindings"
        self.admin.delete(Resource(RBAC, "v1", plural), namespace, binding)


def account(admin: Client, namespace: str = "default") -> Account:
    """A new one, without any permission."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    metadata = {"name": name, "namespace": namespace}
    admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = admin.connection.request("POST", path, request)
    return Account(admin, namespace, name, answer["status"]["token"])


def view_vms(admin: Client) -> None:
    """The ClusterRole VIEW_VMS: to list VMs."""
    rules = [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["get", "list"]}]
    admin.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": VIEW_VMS}, "rules": rules})
