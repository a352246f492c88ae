"""What is known of each repair now, for whoever looks: the API, the page, the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from ..decide.repair import Repair


class ShownRepairs:
    """The repairs by finding and remediation. `changed` is notified when one differs."""

    def __init__(self) -> None:
        self._repairs: dict[tuple[str, str], Repair] = {}
        self.generation = 0
        self.changed = asyncio.Condition()

    def all(self) -> list[Repair]:
        return list(self._repairs.values())

    def get(self, fingerprint: str, remediation: str) -> Repair | None:
        return self._repairs.get((fingerprint, remediation))

    async def put(self, repair: Repair) -> None:
        key = repair.fingerprint, repair.remediation
        before = self._repairs.get(key)
        self._repairs[key] = repair
        if before is None or msgspec.structs.replace(before, at=repair.at) != repair:
            await self._notify()

    async def keep(self, keys: Iterable[tuple[str, str]]) -> None:
        """Forgets all others."""
        wanted = set(keys)
        gone = [key for key in self._repairs if key not in wanted]
        for key in gone:
            del self._repairs[key]
        if gone:
            await self._notify()

    async def _notify(self) -> None:
        self.generation += 1
        async with self.changed:
            self.changed.notify_all()
