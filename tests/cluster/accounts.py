"""ServiceAccounts of a real API server, with tokens as `kubectl create token` gets them, and what they are granted."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from tests.cluster.client import Client
from tests.cluster.resources import Resource
from tests.manifests import Object

__all__ = ["VIEW_VMS", "Account", "account", "view_vms"]

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
