"""An engine for tests with the view of networks, and what the app puts beside it for that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from exporter.checks import all_checks
from exporter.counts.addresses import AddressUsage
from exporter.counts.base import Aggregates
from exporter.counts.networks import STATE
from exporter.metrics.states import States
from exporter.metrics.text import SeriesLimit
from exporter.views.networks import NetworkReport, Networks, take
from tests.evaluation import Evaluation
from tests.rows import full

__all__ = ["Viewed"]


class Viewed(Evaluation):
    """With what the app puts beside the engine."""

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__(all_checks())
        self.keepers = Aggregates(self.engine.cluster, [STATE])
        self.engine.observe(self.keepers.changed)
        self.usage = self.keepers.of(AddressUsage)
        for row in rows:
            self.seen(full(row))

    def take(self, only: str = "") -> Networks:
        self.evaluate()
        list(self.usage.settle())
        return take(self.engine.cluster, self.usage, self.engine.findings(), self.engine.generation, only)

    def one(self) -> NetworkReport:
        (report,) = self.take().networks
        return report

    def used(self) -> dict[str, int]:
        return {use: count for use, count in self.one().subnets[0].usage.items() if count}

    def scrape(self, limit: int = 50_000) -> tuple[list[str], States]:
        states = States(self.engine.cluster, self.keepers, SeriesLimit(family=limit))

        async def text() -> str:
            return b"".join([part async for part in states.render()]).decode()

        return asyncio.run(text()).splitlines(), states
