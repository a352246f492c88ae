"""How long a lease is surely ours, by a clock that nobody sets and that goes on while the computer sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from exporter.kube.errors import KubeError

from .lease_record import LeaseApi


class NotLeadingError(Exception):
    """The lease is not surely ours for as long as was asked; its text is why, one sentence."""


class WithheldError(NotLeadingError):
    """The lease may be ours, and must not: what travels with it does not fit; its text is why, one sentence."""


class Tenure:
    """The time that a successful write of the lease gives us, counted from before it was sent.

    Whoever takes the lease over saw that very write at the earliest after it was sent, and waits for `duration` from
    then. All in seconds; `margin` is for clocks that don't run at the same speed.
    """

    def __init__(self, duration: float, margin: float, clock: Callable[[], float]) -> None:
        self._seconds, self._clock = duration - margin, clock
        self._sent: float | None = None

    @property
    def left(self) -> float:
        """Seconds for which the lease is surely ours from now on; 0 where it may be somebody else's."""
        return 0.0 if self._sent is None else max(0.0, self._sent + self._seconds - self._clock())

    @property
    def age(self) -> float:
        """Seconds since the last write that succeeded was sent; infinite without one."""
        return float("inf") if self._sent is None else self._clock() - self._sent

    def renewed(self, sent: float) -> None:
        """A write that was sent at this time succeeded."""
        self._sent = sent if self._sent is None else max(sent, self._sent)

    def lost(self) -> None:
        self._sent = None


# In place of an election where nothing may be written: no Lease is taken, and the fence lets nothing through.
#
# What the Lease says is read where it matters, in mode `shadow`: whoever paused everything has paused that, too.

_EVERY = 10.0  # seconds between two reads of the Lease, and for one


class NoElection:
    """It leads as far as planning goes; any number of replicas may."""

    leading, leader = True, ""

    def __init__(self, lease: LeaseApi | None = None, wanted: Callable[[], bool] = lambda: True) -> None:
        """`lease` is the one to read while that is `wanted`; without it none is."""
        self.state: Mapping[str, str] = {}
        self.changed = asyncio.Condition()
        self._lease, self._wanted, self._seen = lease, wanted, lease is None

    @property
    def seen(self) -> bool:
        """Whether the state is that of the Lease, or does not matter."""
        return self._seen or not self._wanted()

    async def run(self) -> None:
        """Until it is cancelled."""
        while self._lease is not None:
            if self._wanted():
                await self.look(self._lease)
            await asyncio.sleep(_EVERY)
        await asyncio.Event().wait()

    async def look(self, lease: LeaseApi) -> None:
        """Reads the Lease; one that does not exist says nothing."""
        try:
            record = await lease.get(_EVERY)
        except KubeError:
            self._seen = False
            return
        self.state, self._seen = record.state if record is not None else {}, True

    async def assure(self, seconds: float) -> None:  # noqa: ARG002 # as a fence has it
        """Raises NotLeadingError: whoever writes needs the Lease."""
        raise NotLeadingError("no Lease is held, because no remediation has permission to write. Nothing is written")

    async def publish(self, state: Mapping[str, str | None]) -> None:
        """Nothing travels without a Lease."""
