"""The sidecar's Lease, for commands of a person: where it is, and what it carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.kube.errors import KubeError, MalformedError, StatusError

from ..app import pod_namespace
from ..decide.storms import Storms
from ..lease.api import read_leases
from ..plan.annotations import PREFIX, annotations_of, paused_by
from .session import Session

__all__ = ["lease_path", "standing", "travelling"]

_API = "/apis/coordination.k8s.io/v1"


async def lease_path(at: Session) -> str:
    """The URL path of the Lease: in the configured namespace, else in the pod's, else in the one that has it.

    Raises KubeError; ValueError where that is none, or several.
    """
    name = at.config.lease.name
    if namespace := at.config.lease.namespace or pod_namespace():
        return _path(namespace, name)
    found = [_namespace(each) for each in await _found(at)]
    if len(found) == 1:
        return _path(found[0], name)
    where = f"in namespaces {', '.join(sorted(found))}" if found else "nowhere"
    raise ValueError(
        f"Lease {name} is {where}; name that of the sidecar in --config, as lease.namespace and lease.name"
    )


async def travelling(at: Session) -> Mapping[str, str]:
    """The annotations of the sidecar's Lease under our prefix, without it. Raises KubeError, ValueError."""
    path = await lease_path(at)
    annotations = annotations_of(await read_leases(at.transport, path))
    if annotations is None:
        raise MalformedError(f"GET {path} was answered with something else than a Lease")
    return _ours(annotations)


def _ours(annotations: Mapping[str, Any]) -> dict[str, str]:
    """Those under our prefix, without it."""
    return {
        key.removeprefix(PREFIX): text
        for key, text in annotations.items()
        if key.startswith(PREFIX) and isinstance(text, str)
    }


async def standing(at: Session) -> tuple[str | None, Storms]:
    """What a Lease of the sidecar's name carries: why everything is paused, which is empty where it is not and None
    where it can't be read; and the storms.
    """
    namespace = at.config.lease.namespace or pod_namespace()
    try:
        found = (
            [await read_leases(at.transport, _path(namespace, at.config.lease.name))] if namespace else await _found(at)
        )
    except StatusError as error:
        return "" if error.not_found else None, Storms()
    except KubeError:
        return None, Storms()
    annotations = [annotations_of(each) for each in found]
    if None in annotations:
        return None, Storms()
    values = [paused_by(each) for each in annotations if each is not None]
    paused = next((value or "(no reason given)" for value in values if value is not None), "")
    return paused, Storms(_ours(annotations[0] or {}) if annotations else None)


async def _found(at: Session) -> list[dict[str, Any]]:
    """The Leases of the configured name, of all namespaces. Raises KubeError."""
    listed = await read_leases(
        at.transport, f"{_API}/leases", (("fieldSelector", f"metadata.name={at.config.lease.name}"),)
    )
    items = listed.get("items")
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise MalformedError("the list of Leases was answered with something else")
    return items


def _namespace(lease: Mapping[str, Any]) -> str:
    return str((lease.get("metadata") or {}).get("namespace", ""))


def _path(namespace: str, name: str) -> str:
    return f"{_API}/namespaces/{namespace}/leases/{name}"
