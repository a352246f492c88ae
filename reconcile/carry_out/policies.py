"""Whether the API server holds the sidecar to its plans, and people to what they may approve: asked, and kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from .metrics import RepairTotals

log = logging.getLogger(__name__)
_AGAIN, _MISSING = 300.0, 30.0  # seconds until somebody may have deleted a policy, or applied one that was missing

Ask: TypeAlias = Callable[[], Awaitable[tuple[bool | None, str]]]


class PolicyProof:
    """Where a remediation may write, at the start, and again. It keeps nothing from being written: RBAC and
    the gates hold without a policy, which is the last thing in the way of whoever has the sidecar's token.
    """

    def __init__(self, ask: Mapping[str, Ask], standing: RepairTotals) -> None:
        """For each policy what says whether it refuses what it has to, and why not; None where it was not answered."""
        self._ask, self._standing = ask, standing
        self._unknown: dict[str, str] = {}  # why, of each that was last not known

    async def look(self) -> None:
        for policy, ask in self._ask.items():
            there, why = await ask()
            unknown, self._unknown[policy] = self._unknown.get(policy), why if there is None else ""
            if there is None:
                if unknown != why:
                    log.warning('event="policy check failed" policy=%s why="%s"', policy, why)
                continue
            before = self._standing.policies.get(policy)
            if there is not before and not there:
                log.error('event="policy missing" policy=%s why="%s"', policy, why)
            elif there is not before:
                log.info('event="policy found" policy=%s', policy)
            self._standing.policies = {**self._standing.policies, policy: there}

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_AGAIN if all(map(self._standing.policies.get, self._ask)) else _MISSING)
