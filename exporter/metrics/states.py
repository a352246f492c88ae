"""State families as text: one after the other, in slices, within a series limit for each and one for all of them.

Where a family has more, those are left out that need the most: nobody can push out what others have by making one
object large, such as a network of thousands of subnets. What is left out is counted, series by series.

While a kind can't be seen that a state is made of, its families have no samples: absent is not zero. Nor have
they any where the cluster does not serve what the state is about.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..counts.base import Aggregates, Gauge, Sample, State
from ..store.cluster import Cluster
from ..store.source import not_served, unseen
from .text import Profile, SeriesLimit, escaped, head

_SLICE = 1000  # lines written between two looks at the event loop


@dataclass(slots=True)
class _Room:
    series: int


class States:
    def __init__(
        self,
        cluster: Cluster,
        aggregates: Aggregates,
        series_limit: SeriesLimit | None = None,
        profile: Profile = Profile.FULL,
    ) -> None:
        """Of the states, those that were asked for are left out first."""
        self._without_zeros = profile is Profile.MINIMAL
        self._cluster, self._aggregates, self.series_limit = cluster, aggregates, series_limit or SeriesLimit()
        names = [gauge.name for state in aggregates.states for gauge in state.gauges]
        self.series, self.left_out = dict.fromkeys(names, 0), dict.fromkeys(names, 0)  # of the last page

    async def render(self) -> AsyncIterator[bytes]:
        for _ in self._aggregates.settle():
            await asyncio.sleep(0)
        room = _Room(self.series_limit.total)
        for state in sorted(self._aggregates.states, key=lambda state: bool(state.option)):
            silent = not_served(self._cluster, state.requires) or unseen(
                self._cluster, (each.record for each in state.reads)
            )
            for gauge in state.gauges:
                yield head(gauge.name, gauge.help)
                if silent:
                    self.series[gauge.name] = self.left_out[gauge.name] = 0
                    continue
                async for part in self._lines(state, gauge, room):
                    yield part

    async def _lines(self, state: State[Any], gauge: Gauge[Any], room: _Room) -> AsyncIterator[bytes]:
        groups: list[Sequence[Sample]] = []
        collected = 0
        for every in gauge.samples(self._aggregates.of(state.keep)):
            group = [sample for sample in every if sample[1]] if gauge.sparse and self._without_zeros else every
            groups.append(group)
            collected += len(group)
            if collected >= _SLICE:
                collected = 0
                await asyncio.sleep(0)
        fitting = self._fitting(groups, min(self.series_limit.family, room.series))
        shown = 0
        lines: list[str] = []
        for group in fitting:
            shown += len(group)
            lines += [_line(gauge, sample) for sample in group]
            if len(lines) >= _SLICE:
                yield "".join(lines).encode()
                lines.clear()
                await asyncio.sleep(0)
        yield "".join(lines).encode()
        self.series[gauge.name], self.left_out[gauge.name] = shown, sum(map(len, groups)) - shown
        room.series -= shown

    def _fitting(self, groups: list[Sequence[Sample]], most: int) -> list[Sequence[Sample]]:
        """In their order; where not all fit, the smallest, and of those of one size the first."""
        small = [group for group in groups if len(group) <= self.series_limit.group]
        if sum(map(len, small)) <= most:
            return small
        by_size = sorted(range(len(small)), key=lambda at: len(small[at]))
        ends = accumulate(len(small[at]) for at in by_size)
        return [small[at] for at in sorted(at for at, end in zip(by_size, ends, strict=True) if end <= most)]


def _line(gauge: Gauge[Any], sample: Sample) -> str:
    values, value = sample
    block = ",".join(f'{label}="{escaped(text)}"' for label, text in zip(gauge.labels, values, strict=True))
    return f"{gauge.name}{{{block}}} {value:.15g}\n" if block else f"{gauge.name} {value:.15g}\n"
