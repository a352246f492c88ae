"""The sidecar's Lease, for commands of a person: where it is, and what it carries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from exporter.kube.errors import KubeError, MalformedError, StatusError

from ..app import pod_namespace
from ..carry_out.lease_record import LeaseRecord, NotLeadingError, read_leases
from ..decide.storms import Storms
from ..plan.annotations import PREFIX, annotations_of, paused_by
from .session import Session

_API = "/apis/coordination.k8s.io/v1"
_LOOK_SECONDS = 1.0


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
    where = f"exists in namespaces {', '.join(sorted(found))}" if found else "doesn't exist"
    raise ValueError(f"Lease {name} {where}. Set lease.namespace and lease.name of the sidecar's Lease in --config")


async def travelling(at: Session) -> Mapping[str, str]:
    """The annotations of the sidecar's Lease under our prefix, without it. Raises KubeError, ValueError."""
    path = await lease_path(at)
    annotations = annotations_of(await read_leases(at.transport, path))
    if annotations is None:
        raise MalformedError(f"GET {path} didn't return a Lease")
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
    try:
        found = await _all(at)
    except KubeError:
        return None, Storms()
    annotations = [annotations_of(each) for each in found]
    if None in annotations:
        return None, Storms()
    values = [paused_by(each) for each in annotations if each is not None]
    paused = next((value or "(no reason given)" for value in values if value is not None), "")
    return paused, Storms(_ours(annotations[0] or {}) if annotations else None)


class Unled:
    """That no sidecar holds a Lease of its name, for writes that a sidecar would meet: a fence of an attempt.

    A holder is known by what it does: it renews the Lease within the time that the Lease says. No time in it is
    compared with a clock of ours.
    """

    def __init__(self, at: Session) -> None:
        self._at, self._known = at, list[LeaseRecord]()

    async def looked(self) -> str:
        """Who holds it, one sentence; empty for nobody. Of one that is held it waits whether it is renewed, at most as
        long as that may take. Raises KubeError.
        """
        self._known = await self._leases()
        held = [each for each in self._known if each.holder]
        own = self._at.config.lease.duration.total_seconds()
        until = time.monotonic() + max((each.patience(own) for each in held), default=0.0)
        while held and time.monotonic() < until:
            await asyncio.sleep(_LOOK_SECONDS)
            if why := await self._taken():
                return why
        return ""

    async def assure(self, _seconds: float) -> None:
        """Raises NotLeadingError where a sidecar took or renewed it since, or that can't be read."""
        try:
            why = await self._taken()
        except KubeError as error:
            why = f"a sidecar might hold the Lease, which can't be read: {error}"
        if why:
            raise NotLeadingError(why)

    async def _taken(self) -> str:
        now = await self._leases()
        holder = next((each.holder for each in now if each.holder and each not in self._known), "")
        return f"sidecar {holder} is running: it holds the Lease {self._at.config.lease.name}" if holder else ""

    async def _leases(self) -> list[LeaseRecord]:
        return [LeaseRecord(each) for each in await _all(self._at)]


async def _all(at: Session) -> list[dict[str, Any]]:
    """The Leases of the sidecar's name, in its namespace where that is known, else in all. Raises KubeError."""
    namespace = at.config.lease.namespace or pod_namespace()
    if not namespace:
        return await _found(at)
    try:
        return [await read_leases(at.transport, _path(namespace, at.config.lease.name))]
    except StatusError as error:
        if error.not_found:
            return []
        raise


async def _found(at: Session) -> list[dict[str, Any]]:
    """The Leases of the configured name, of all namespaces. Raises KubeError."""
    listed = await read_leases(
        at.transport, f"{_API}/leases", (("fieldSelector", f"metadata.name={at.config.lease.name}"),)
    )
    items = listed.get("items")
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise MalformedError("the API server didn't return a list of Leases")
    return items


def _namespace(lease: Mapping[str, Any]) -> str:
    return str((lease.get("metadata") or {}).get("namespace", ""))


def _path(namespace: str, name: str) -> str:
    return f"{_API}/namespaces/{namespace}/leases/{name}"
