"""What the gates have to know of the cluster, read when it is needed: None is for what could not be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from exporter.kube.errors import AbsentError, KubeError
from exporter.store.kind import ApiKind
from exporter.store.kinds import kube_virt, namespace, virtual_machine

from ..plan.annotations import annotations_of
from ..plan.requests import metadata
from .fresh_reads import Reads, document


async def annotated(reads: Reads, kind: ApiKind[Any], within: str, name: str) -> Mapping[str, Any] | None:
    """Those of one object; none of one that does not exist, None where it can't be read."""
    try:
        raw = await reads.get(kind, await reads.served(kind), within, name)
        return annotations_of(document(raw)) if raw is not None else {}
    except KubeError:
        return None


async def of_namespace(reads: Reads, name: str) -> Mapping[str, Any] | None:
    return await annotated(reads, namespace.KIND, "", name) if name else {}


async def labels_of_namespace(reads: Reads, name: str) -> Mapping[str, str] | None:
    """Those of a namespace; None where they can't be read, or it does not exist."""
    kind = namespace.KIND
    try:
        raw = await reads.get(kind, await reads.served(kind), "", name)
    except KubeError:
        return None
    return _labels(document(raw)) if raw is not None else None


async def labels_of_namespaces(reads: Reads) -> dict[str, Mapping[str, str] | None]:
    """Those of all namespaces, by their names; none where they can't be listed."""
    kind = namespace.KIND
    try:
        found = [document(each) for each in await reads.listed(kind, await reads.served(kind), None)]
    except KubeError:
        return {}
    return {str(metadata(each).get("name")): _labels(each) for each in found}


def _labels(whole: Mapping[str, Any]) -> Mapping[str, str] | None:
    found = metadata(whole).get("labels")
    if found is None:
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else None


async def of_vm(reads: Reads, within: str, name: str) -> Mapping[str, Any] | None:
    return await annotated(reads, virtual_machine.KIND, within, name) if name else {}


async def upgrading(reads: Reads) -> bool | None:
    """Whether KubeVirt is being installed or upgraded, by any of its objects; None where that can't be read."""
    kind = kube_virt.KIND
    try:
        found = [document(each) for each in await reads.listed(kind, await reads.served(kind), None)]
    except KubeError:
        return None
    return any(map(_unsettled, found)) if found else None


def _unsettled(whole: Mapping[str, Any]) -> bool:
    status = whole.get("status")
    status = status if isinstance(status, dict) else {}
    observed, target = status.get("observedKubeVirtVersion"), status.get("targetKubeVirtVersion")
    return status.get("phase") != "Deployed" or observed != target


# How many VMs there are, counted by us: the exporter's findings are hints, and what limits them must not be one.

_KEPT = 300.0  # seconds
_MOST = 10_000  # namespaces that are remembered


class CanCount(Protocol):
    async def served(self, kind: ApiKind[Any]) -> str:
        """The version that is served. Raises AbsentError where there is none, KubeError."""

    async def counted(self, kind: ApiKind[Any], version: str, namespace: str | None) -> int:
        """How many objects there are in a namespace, in all where it is None. Raises KubeError."""


class VMCounts:
    """Numbers of VMs, remembered for five minutes. None is what could not be counted; it is asked again each time."""

    def __init__(self, reads: CanCount, timer: Callable[[], float]) -> None:
        self._reads, self._timer = reads, timer
        self._counts: dict[str | None, tuple[int, float]] = {}

    async def total(self) -> int | None:
        return await self._count(None)

    async def within(self, namespace: str) -> int | None:
        return await self._count(namespace) if namespace else 0

    async def _count(self, namespace: str | None) -> int | None:
        found = self._counts.get(namespace)
        if found is not None and self._timer() - found[1] < _KEPT:
            return found[0]
        kind = virtual_machine.KIND
        try:
            number = await self._reads.counted(kind, await self._reads.served(kind), namespace)
        except AbsentError:
            number = 0
        except KubeError:
            self._counts.pop(namespace, None)
            return None
        if len(self._counts) >= _MOST:
            self._counts.clear()
        self._counts[namespace] = number, self._timer()
        return number
