"""Elects one leader among replicas by a Lease, as client-go's leaderelection does, and fences what it writes.

A replica leads only by a write of its own that succeeded, for the lease's duration from before it was sent. Each write
is bound to the UID and resourceVersion that were read. Whoever takes over has seen the Lease unchanged for the duration
from when it read it; so the former leader's time is up by its own clock. That holds for a Lease edited by hand too. One
that is gone is created without a holder, and then waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from exporter.kube.clocks import boottime
from exporter.kube.errors import KubeError, StatusError, UnreachableError
from exporter.kube.transport import Transport

from .lease_record import (
    PREFIX,
    RESERVED,
    Contender,
    LeaseApi,
    LeaseRecord,
    NotLeadingError,
    Tenure,
    WithheldError,
    unheld,
)

__all__ = ["Election", "NotLeadingError", "boottime"]

# Tells who waits for it, and the log, how an election stands.

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
            lost = "leader observed" if self._seen is None else "leadership lost"
            event = "leadership acquired" if now.leading else lost
            log.info('event="%s" lease="%s" leader=%s why="%s"', event, self._lease, now.leader, now.problem)
        self._seen = now
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.create_task(self._notify())

    async def _notify(self) -> None:
        """By itself: who holds `changed` must not keep the lease from being renewed."""
        async with self.changed:
            self.changed.notify_all()


_TRIES = 4  # of a write, while others write too
_FRESH = 1.0  # seconds; a renewal that is younger is not repeated for the fence


class Election:
    """`changed` is notified when `leading`, `leader`, `state` or `problem` changed."""

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str,
        name: str,
        identity: str,
        duration: float = 15.0,
        renew: float = 5.0,
        margin: float = 2.0,
        clock: Callable[[], float] = boottime,
        wall: Callable[[], float] = time.time,
        carry: Callable[[Mapping[str, str]], Mapping[str, str | None]] = lambda _: {},
    ) -> None:
        """All in seconds; `wall` is for the times that people read. Raises ValueError for too little time to renew.

        `carry` is asked at each write what is to travel with the lease, by what travels with it now. It may raise
        WithheldError: then the lease is not taken or renewed.
        """
        if not identity or not 0 < 2 * renew < duration - margin or margin < 0 or duration > 600:
            raise ValueError(
                f"a lease of {duration:g} s with a margin of {margin:g} s can't be renewed every {renew:g} s by "
                f"{identity!r}. It needs an identity, a duration of at most 600 s, and time for two renewals"
            )
        self._renew, self._clock, self._wall, self._carry = renew, clock, wall, carry
        self._api = LeaseApi(transport, namespace, name)
        self._me = Contender(namespace, name, identity, secrets.token_hex(8), duration)
        self._tenure = Tenure(duration, margin, clock)
        self._record: LeaseRecord | None = None
        self._since = 0.0  # when the record was first seen as it is
        self._current = False  # whether the record is what the last request returned
        self._ended = self._withheld = False
        self._writing = asyncio.Lock()
        self._notice = Notice(str(self))
        self.problem = ""

    @property
    def leading(self) -> bool:
        return not self._ended and self._tenure.left > 0

    @property
    def leader(self) -> str:
        """The identity that holds the lease, as far as is known; empty for none."""
        return self._record.holder if self._record is not None else ""

    @property
    def state(self) -> Mapping[str, str]:
        """The annotations under our prefix that travel with the lease, as last seen."""
        return self._record.state if self._record is not None else {}

    @property
    def changed(self) -> asyncio.Condition:
        return self._notice.changed

    async def run(self) -> None:
        """Takes part until it is cancelled, and then gives the lease up; once. Whatever writes under it ends before."""
        try:
            while True:
                await self._turn()
                self._report()
                await asyncio.sleep(self._pause())
                self._report()  # a tenure ends by itself
        finally:
            self._ended = True
            with contextlib.suppress(KubeError):
                await self._give_up()
            self._report()

    async def assure(self, seconds: float) -> None:
        """Returns while the lease is surely ours for so long. Raises NotLeadingError.

        It is renewed where less is left, the last renewal is older than a second, or something new is to travel: also a
        leader that lost its lease by hand, or whose API server is gone, finds out before it writes.
        """
        if not self.leading:
            raise NotLeadingError(self._not_leading())
        if self._due(seconds):
            try:
                async with self._writing:
                    if self._due(seconds):
                        await self._hold()
            except KubeError as error:
                raise NotLeadingError(f"{self} couldn't be renewed before a write: {error}") from error
            finally:
                self._report()
        if self._ended or self._tenure.left < seconds:
            left = f"{self} for {self._tenure.left:.1f} s more"
            raise NotLeadingError(f"this replica holds {left}, and a write needs {seconds:g} s")

    async def publish(self, state: Mapping[str, str | None]) -> None:
        """Sets annotations under our prefix; None takes one out. Raises NotLeadingError, KubeError."""
        if RESERVED & state.keys():
            raise ValueError(f"{PREFIX}{min(RESERVED & state.keys())} is the election's own")
        if not self.leading:
            raise NotLeadingError(self._not_leading())
        try:
            async with self._writing:
                await self._hold(state)
        finally:
            self._report()

    def __str__(self) -> str:
        return str(self._api)

    # Turns.

    async def _turn(self) -> None:
        """One step towards the lease, or one renewal. Never raises for what the API server answers."""
        try:
            async with self._writing:
                if not self._current or not self.leading:
                    await self._look()
                if self._record is None:
                    self._current = False
                    await self._api.create(unheld(self._me), self._seconds())
                elif self._free():
                    await self._hold(taking=True)
            self.problem, self._withheld = "", False
        except WithheldError as error:
            self._current, self._withheld, self.problem = False, True, str(error)
        except NotLeadingError:
            self.problem = ""  # somebody else was faster
        except KubeError as error:
            self._current = False
            grant = ". Grant get, create and update of leases there" if getattr(error, "code", 0) == 403 else ""
            self.problem = f"can't hold {self}: {error}{grant}"

    def _pause(self) -> float:
        """Until the next turn: also the end of the tenure, and the moment from which the lease may be taken."""
        retry = self._renew * random.uniform(0.15, 0.25)  # noqa: S311
        if self.leading:
            return min(retry if self.problem else self._renew, self._tenure.left)
        if self._withheld:
            return self._renew
        if self._record is None or self._free():
            return min(retry, 1.0)
        pause = self._renew * random.uniform(0.4, 0.6)  # noqa: S311
        ripe = self._since + self._record.patience(self._me.duration) - self._clock()
        return min(pause, max(ripe, 0.0) + random.uniform(0.0, 0.05) * self._renew)  # noqa: S311

    def _free(self) -> bool:
        """Whether the record is ours, or may be taken."""
        record = self._record
        if record is None:
            return False
        ripe = self._clock() - self._since > record.patience(self._me.duration)
        return record.held_by(self._me) or record.released or ripe

    def _due(self, seconds: float) -> bool:
        if self._tenure.left < seconds or self._tenure.age > _FRESH or not self._current:
            return True
        return any(self.state.get(name) != text for name, text in self._carry(self.state).items())

    async def _hold(self, state: Mapping[str, str | None] | None = None, *, taking: bool = False) -> None:
        """Writes the lease as ours. Raises NotLeadingError where it is somebody else's, KubeError."""
        for _ in range(_TRIES):
            if not self._current:
                await self._look()
            record = self._record
            if record is None or not (record.held_by(self._me) or (taking and self._free())):
                raise NotLeadingError(self._not_leading())
            carried = {**self._carry(record.state), **(state or {})}
            try:
                await self._write(record.held(self._me, self._wall(), carried))
                return
            except StatusError as error:
                if error.code not in (404, 409):  # somebody wrote or deleted it
                    raise
        raise UnreachableError(f"other clients changed {self} {_TRIES} times in a row")

    async def _give_up(self) -> None:
        """Lets others have it at once."""
        async with self._writing:
            for _ in range(_TRIES):
                if not self._current:
                    await self._look()
                if self._record is None or not self._record.held_by(self._me):
                    return
                self._tenure.lost()
                with contextlib.suppress(StatusError, WithheldError):
                    await self._write(self._record.given_up(self._me, self._wall(), self._carry(self.state)))
                    return

    # Requests.

    async def _look(self) -> None:
        """Reads the lease. Raises KubeError."""
        found = await self._api.get(self._seconds())
        if found is None or found != self._record:
            self._record, self._since = found, self._clock()
        self._current = True
        if found is None or not found.held_by(self._me):
            self._tenure.lost()

    async def _write(self, body: Mapping[str, Any]) -> None:
        """What came of a write that failed is only known once the lease is read. Raises KubeError."""
        self._current = False
        sent = self._clock()
        self._record = await self._api.replace(body, self._seconds())
        self._since, self._current = self._clock(), True
        if self._record.held_by(self._me):
            self._tenure.renewed(sent)

    def _seconds(self) -> float:
        """For one request; a leader notices at the end of its tenure that it has ended."""
        return min(self._renew, max(self._tenure.left, 0.1)) if self.leading else self._renew

    # What others see.

    def _not_leading(self) -> str:
        why = self.problem or f"its holder is {self.leader!r}"
        return f"{self} was released" if self._ended else f"this replica doesn't hold {self}: {why}"

    def _report(self) -> None:
        self._notice.give(LeaseStanding(self.leading, self.leader, dict(self.state), self.problem))
