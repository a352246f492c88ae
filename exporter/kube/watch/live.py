"""The live source: one reflector per kind that checks read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from ...engine.intake import Intake
from ...facts.times import Skew
from ...store.kind import ApiKind, Kind
from ..background import alongside
from ..client import Client, Timeouts
from ..transport import Transport
from .reflector import Reflector

_AGE_SECONDS = 1.0  # between two looks for stale kinds


class LiveSource:
    def __init__(
        self, transport: Transport, kinds: Iterable[Kind[Any]], intake: Intake, pace: Timeouts | None = None
    ) -> None:
        pace = pace or Timeouts()
        self.transport = transport
        client = Client(transport, pace)
        self.requests = client.requests
        self.reflectors = [Reflector(kind, client, intake, pace) for kind in kinds if isinstance(kind, ApiKind)]

    def skew(self) -> Skew | None:
        """Of our clock and the API server's, as far as that is known."""
        return self.transport.clocks.skew()

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watches while entered; an unexpected error of a reflector is raised in the block. Raises ConfigError."""
        try:
            await self.transport.load()
            jobs = {f"reflect {each.kind.name}": each.run() for each in self.reflectors}
            async with alongside({**jobs, "age": self._age()}):
                yield
        finally:
            await self.transport.close()

    async def _age(self) -> None:
        while True:
            for reflector in self.reflectors:
                reflector.age()
            await asyncio.sleep(_AGE_SECONDS)
