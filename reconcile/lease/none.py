"""In place of an election where every remediation only plans: no Lease is taken, and the fence lets nothing through."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from .tenure import NotLeadingError

__all__ = ["NoElection"]


class NoElection:
    """It leads as far as planning goes; any number of replicas may."""

    leading = True

    def __init__(self) -> None:
        self.state: Mapping[str, str] = {}
        self.changed = asyncio.Condition()

    async def run(self) -> None:
        """Until it is cancelled."""
        await asyncio.Event().wait()

    async def assure(self, seconds: float) -> None:  # noqa: ARG002 # as a fence has it
        """Raises NotLeadingError: whoever writes needs the Lease."""
        raise NotLeadingError("no Lease is held, since every remediation only plans; nothing is written")

    async def publish(self, state: Mapping[str, str | None]) -> None:
        """Nothing travels without a Lease."""
