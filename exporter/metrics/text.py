"""The text format, as far as we write it ourselves: the same in 0.0.4 and in OpenMetrics.

State families as text: one after the other, in slices, within a series limit for each and one for all of them.

Where a family has more, those are left out that need the most: nobody can push out what others have by making one
object large, such as a network of thousands of subnets. What is left out is counted, series by series.

While a kind can't be seen that a state is made of, its families have no samples: absent is not zero. Nor have
they any where the cluster does not serve what the state is about.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

from ..counts.base import Aggregates, Gauge, Sample, State
from ..store.cluster import Cluster
from ..store.source import not_served, unseen


def head(name: str, text: str) -> bytes:
    return f"# HELP {name} {escaped(text)}\n# TYPE {name} gauge\n".encode()


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


# A histogram without labels.


class Histogram:
    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are the upper bounds of the buckets, ascending and without infinity."""
        self.total = 0.0  # of all that was observed
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self.total += value * times

    def buckets(self) -> list[tuple[str, float]]:
        """The upper bound of each bucket, and how many observations are no larger."""
        bounds = (*map(str, self._bounds), "+Inf")
        return list(zip(bounds, accumulate(self._counts), strict=True))


# How many series there are whatever the cluster has: by `metrics.profile` of the configuration.
#
# Each family has the least profile that serves it. What is `sparse` has no samples at 0 in the least of them, where
# absent says no less: `kubevirt_steward_check_up` tells nothing found from nothing known.


class Profile(StrEnum):
    MINIMAL = "minimal"  # what the rules read
    DEFAULT = "default"  # and the boards and runbooks, with what is 0
    FULL = "full"  # and what only helps who debugs the steward

    def serves(self, least: Profile) -> bool:
        """Whether it has what `least` is the least profile of."""
        return _ORDER.index(self) >= _ORDER.index(least)


_ORDER = tuple(Profile)


# How many series the steward exports at most.


@dataclass(frozen=True)
class SeriesLimit:
    """Series of one family, and of all together: for findings, and as many again for states.

    `group` is for what a state says of one object: whoever makes it decides how much that is.
    """

    family: int = 50_000
    total: int = 200_000
    group: int = 1_000


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
