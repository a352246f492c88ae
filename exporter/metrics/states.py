"""State families as text: one after the other, in slices, within a series limit for each and one for all of them.

While a kind can't be seen that a state is made of, its families have no samples: absent is not zero.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from ..model.cluster import Cluster
from ..model.source import unseen
from ..states.base import Aggregates, Gauge, Sample, State
from .series_limit import SeriesLimit
from .text import escaped, head

__all__ = ["States"]

_SLICE = 1000  # lines written between two looks at the event loop


@dataclass(slots=True)
class _Room:
    series: int


class States:
    def __init__(self, cluster: Cluster, aggregates: Aggregates, series_limit: SeriesLimit | None = None) -> None:
        """Who comes last in the order of a family is left out first; of the states, those that were asked for."""
        self._cluster, self._aggregates, self.series_limit = cluster, aggregates, series_limit or SeriesLimit()
        names = [gauge.name for state in aggregates.states for gauge in state.gauges]
        self.series, self.left_out = dict.fromkeys(names, 0), dict.fromkeys(names, 0)  # of the last page

    async def render(self) -> AsyncIterator[bytes]:
        for _ in self._aggregates.settle():
            await asyncio.sleep(0)
        room = _Room(self.series_limit.total)
        for state in sorted(self._aggregates.states, key=lambda state: bool(state.option)):
            blind = unseen(self._cluster, (kind.record for kind in state.reads))
            for gauge in state.gauges:
                yield head(gauge.name, gauge.help)
                if blind:
                    self.series[gauge.name] = self.left_out[gauge.name] = 0
                    continue
                async for part in self._lines(state, gauge, room):
                    yield part

    async def _lines(self, state: State[Any], gauge: Gauge[Any], room: _Room) -> AsyncIterator[bytes]:
        lines: list[str] = []
        most, total, shown = min(self.series_limit.family, room.series), 0, 0
        for group in gauge.samples(self._aggregates.of(state.keep)):
            total += len(group)
            if total <= most:
                shown = total
                lines += [_line(gauge, sample) for sample in group]
            if len(lines) >= _SLICE:
                yield "".join(lines).encode()
                lines.clear()
                await asyncio.sleep(0)
        yield "".join(lines).encode()
        self.series[gauge.name], self.left_out[gauge.name] = shown, total - shown
        room.series -= shown


def _line(gauge: Gauge[Any], sample: Sample) -> str:
    values, value = sample
    block = ",".join(f'{label}="{escaped(text)}"' for label, text in zip(gauge.labels, values, strict=True))
    return f"{gauge.name}{{{block}}} {value:g}\n"
