"""A step as a request to the API server, with its preconditions; pure, so that what is sent can be looked at.

Where a dry run is asked for differs: of a PATCH and a POST the query counts, of a DELETE with a body and of KubeVirt's
subresources only the body does, and `?dryRun=All` there is a real write
(k8s.io/apiserver/pkg/endpoints/handlers/delete.go; kubevirt/pkg/virt-api/rest/subresource.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from exporter.facts.record import Ref
from exporter.store.kind import ApiKind

from .plan import Create, Delete, Patch, Step

__all__ = [
    "MANAGER",
    "NOT_APPROVED",
    "NOT_PLANNED",
    "PROBE",
    "Request",
    "annotating",
    "event_request",
    "metadata",
    "probing",
    "request",
]

MANAGER = "kubevirt-steward"  # the field manager of all that is written
# In what the policies say where they refuse: of what no plan makes, and of what only people may do.
NOT_PLANNED, NOT_APPROVED = "may not make this write", "may not let repairs be made"
PROBE = "kubevirt-steward-probe"  # a Lease that is never kept
_ALL = ("All",)
_STRICT = (("fieldManager", MANAGER), ("fieldValidation", "Strict"))


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent. `dry` says that the API server keeps nothing of it."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: Any
    dry: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path}{' (dry run)' if self.dry else ''}"


def request(step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, dry: bool) -> Request:
    """The request of a step on a kind that is served in a version.

    `whole` is the object that it is bound to, as it was read: its UID and resourceVersion are the preconditions. Raises
    ValueError for one without either.
    """
    uid, resource_version = _identity(whole)
    path = _path(kind, version, step.target.namespace, "" if isinstance(step, Create) else step.target.name)
    query = (*(_DRY if dry else ()), *_STRICT)
    if isinstance(step, Patch):
        tests = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version},
        ]
        return Request(
            method="PATCH",
            path=f"{path}/{step.subresource}" if step.subresource else path,
            query=query,
            headers={"Content-Type": "application/json-patch+json"},
            body=[*tests, *msgspec.to_builtins(step.ops)],
            dry=dry,
        )
    if isinstance(step, Delete):
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid, "resourceVersion": resource_version},
            **({"dryRun": list(_ALL)} if dry else {}),
        }
        return Request(method="DELETE", path=path, body=options, dry=dry)
    if isinstance(step, Create):
        return Request(method="POST", path=path, query=query, body=dict(step.manifest), dry=dry)
    return Request(
        method="PUT",
        path=_path(kind, version, step.target.namespace, f"{step.target.name}/{step.action}", subresource=True),
        # With a plain `application/json` these answer 406.
        headers={"Accept": "application/json, */*"},
        body={**step.body, **({"dryRun": list(_ALL)} if dry else {})},
        dry=dry,
    )


def probing(namespace: str, annotations: Mapping[str, str] | None = None) -> Request:
    """The dry run of a write that RBAC leaves open and a policy has to refuse: of a Lease that nobody reads, which no
    plan makes; or with annotations by which only people let something be written.
    """
    meta = {"name": PROBE, "namespace": namespace, **({"annotations": dict(annotations)} if annotations else {})}
    return Request(
        method="POST",
        path=f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
        query=(*_DRY, *_STRICT),
        body={"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}},
        dry=True,
    )


def event_request(namespace: str, manifest: Mapping[str, Any]) -> Request:
    return Request(method="POST", path=f"/api/v1/namespaces/{namespace}/events", body=dict(manifest), dry=False)


def annotating(path: str, whole: Mapping[str, Any], annotations: Mapping[str, str | None]) -> Request:
    """Sets annotations on an object by its URL path, as it was read, and takes off those that are None.

    Raises ValueError for one without UID or resourceVersion.
    """
    uid, resource_version = _identity(whole)
    return Request(
        method="PATCH",
        path=path,
        query=_STRICT,
        headers={"Content-Type": "application/merge-patch+json"},
        body={"metadata": {"uid": uid, "resourceVersion": resource_version, "annotations": dict(annotations)}},
        dry=False,
    )


def metadata(whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of an object; empty where it has none."""
    found = whole.get("metadata")
    return found if isinstance(found, dict) else {}


def ref_of(kind: str, whole: Mapping[str, Any]) -> Ref:
    meta = metadata(whole)
    return Ref(kind, str(meta.get("namespace") or ""), str(meta.get("name")), str(meta.get("uid") or ""))


def _identity(whole: Mapping[str, Any]) -> tuple[str, str]:
    meta = metadata(whole)
    uid, resource_version = meta.get("uid"), meta.get("resourceVersion")
    if not isinstance(uid, str) or not isinstance(resource_version, str) or not uid or not resource_version:
        raise ValueError(f"{meta.get('name')} has no UID or no resourceVersion: nothing is written without")
    return uid, resource_version


def _path(kind: ApiKind[Any], version: str, namespace: str, name: str, *, subresource: bool = False) -> str:
    base = f"/apis/subresources.{kind.group}/{version}" if subresource else kind.base(version)
    within = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"{base}{within}/{kind.plural}" + (f"/{name}" if name else "")


_DRY = (("dryRun", "All"),)
