"""Whether the API server holds the sidecar to its plans: what it sends to find out, and what its metrics say of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ..show.metrics import RepairTotals

__all__ = ["Guarding"]

log = logging.getLogger(__name__)
_AGAIN = 300.0  # seconds: somebody applies the policy, or deletes it


class Guarding:
    """Where a remediation may write, at the start and every few minutes. It keeps nothing from being written: RBAC and
    the gates hold without a policy, which is the last thing in the way of whoever has the sidecar's token.
    """

    def __init__(self, ask: Callable[[], Awaitable[tuple[bool | None, str]]], standing: RepairTotals) -> None:
        """`ask` says whether what no plan makes is refused, and why not; None where it was not answered."""
        self._ask, self._standing = ask, standing

    async def look(self) -> None:
        guarded, why = await self._ask()
        if guarded is None:
            log.warning('event="it is not known whether the policy is there" why="%s"', why)
            return
        if guarded is not self._standing.guarded and not guarded:
            log.error('event="no policy holds the sidecar to its plans" why="%s"', why)
        elif guarded is not self._standing.guarded:
            log.info('event="the policy holds the sidecar to its plans"')
        self._standing.guarded = guarded

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_AGAIN)
