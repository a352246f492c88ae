"""How many VMs there are, counted by us: the exporter's findings are hints, and what limits them must not be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from exporter.kube.errors import AbsentError, KubeError
from exporter.store.kind import ApiKind
from exporter.store.kinds import virtual_machine

_KEPT = 300.0  # seconds
_MOST = 10_000  # namespaces that are remembered


class Counting(Protocol):
    async def served(self, kind: ApiKind[Any]) -> str:
        """The version that is served. Raises AbsentError where there is none, KubeError."""

    async def counted(self, kind: ApiKind[Any], version: str, namespace: str | None) -> int:
        """How many objects there are in a namespace, in all where it is None. Raises KubeError."""


class VMCounts:
    """Numbers of VMs, remembered for five minutes. None is what could not be counted; it is asked again each time."""

    def __init__(self, reads: Counting, timer: Callable[[], float]) -> None:
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
