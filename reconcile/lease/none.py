"""In place of an election where nothing may be written: no Lease is taken, and the fence lets nothing through.

What the Lease says is read where it matters, in mode `shadow`: whoever paused everything has paused that, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from exporter.kube.errors import KubeError

from .api import LeaseApi
from .tenure import NotLeadingError

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
        raise NotLeadingError("no Lease is held, since no remediation may write; nothing is written")

    async def publish(self, state: Mapping[str, str | None]) -> None:
        """Nothing travels without a Lease."""
