"""Tells who waits for it, and the log, how an election stands."""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

log = logging.getLogger(__name__)


class LeaseStanding(NamedTuple):
    """`state` are the annotations that travel with the lease."""

    leading: bool
    leader: str
    state: dict[str, str]
    problem: str


class Notice:
    """`changed` is notified when anything of it changed; the log has when leading began and ended."""

    def __init__(self, lease: str) -> None:
        self._lease = lease
        self._seen: LeaseStanding | None = None
        self._notifying: asyncio.Task[None] | None = None
        self.changed = asyncio.Condition()

    def give(self, now: LeaseStanding) -> None:
        if now == self._seen:
            return
        if self._seen is None or self._seen.leading != now.leading:
            event = "leading" if now.leading else "not leading"
            log.info('event="%s" lease="%s" leader=%s why="%s"', event, self._lease, now.leader, now.problem)
        self._seen = now
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.create_task(self._notify())

    async def _notify(self) -> None:
        """By itself: who holds `changed` must not keep the lease from being renewed."""
        async with self.changed:
            self.changed.notify_all()
