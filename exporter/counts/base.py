"""What a state declares, and what keeps the counts that it shows.

A state is data: its gauges, the kinds without which it says nothing, and what keeps its counts. An *aggregate* is made
over a cluster and gets each change of it, but only notes what has to be counted again; `settle` counts, a few
milliseconds at a time, before anything is shown. So a scrape costs what changed since the last one, and never counts
the fleet.

States that name one aggregate share it, as does whoever else asks for it: nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..config.settings import MetricsSettings
from ..store.cluster import Change, Cluster
from ..store.index import Index
from ..store.kind import Kind

Sample: TypeAlias = tuple[tuple[str, ...], float]  # the values of the labels, in their order, and the gauge's value


class Aggregate(Protocol):
    def changed(self, change: Change) -> None:
        """Notes what a change of the cluster concerns; called for each, so it has to be quick."""

    def settle(self) -> Iterator[None]:
        """Takes into account what was noted; stops after a few milliseconds each, so that others get their turn."""


K = TypeVar("K", bound=Aggregate)


@dataclass(frozen=True)
class Gauge(Generic[K]):
    """A family. `samples` gives, for an aggregate that is settled, the samples of each object as a group: that is shown
    whole or, past the series limit, not at all.

    Between two groups others get their turn and may settle the aggregate: walk over a copy of what it holds. One that
    is `sparse` has a series for each value of its labels, whatever there is: the least profile leaves out those at 0.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    samples: Callable[[K], Iterable[Sequence[Sample]]]
    stability: str = "experimental"
    sparse: bool = False


@dataclass(frozen=True, eq=False)
class State(Generic[K]):
    """`keep` makes the aggregate of a cluster that holds nothing yet and that keeps `indexes`.

    While one of the kinds it `reads` can't be seen, or one that it `requires` is not served, there are no samples:
    absent is not zero. `option` is the field of the configuration's section `metrics` that asks for it; a state without
    one is always there. Its kinds are watched for its sake only where it was asked for. Where an option has several
    values, `by` gives what keeps the counts then.
    """

    keep: Callable[[Cluster], K]
    gauges: tuple[Gauge[K], ...]
    reads: tuple[Kind[Any], ...]
    indexes: tuple[Index, ...] = ()
    option: str = ""
    requires: tuple[Kind[Any], ...] = ()
    by: Callable[[MetricsSettings], Callable[[Cluster], K]] | None = None

    def of(self, settings: MetricsSettings) -> State[K]:
        """As it is asked for."""
        return replace(self, keep=self.by(settings)) if self.by is not None else self

    def wanted(self, settings: MetricsSettings) -> bool:
        return not self.option or bool(getattr(settings, self.option))


class Aggregates:
    """The aggregates of the states of one cluster."""

    def __init__(self, cluster: Cluster, states: Iterable[State[Any]]) -> None:
        """`changed` has to be called with each change of the cluster."""
        self.states = tuple(states)
        self._aggregates: dict[Callable[[Cluster], Any], Any] = {}
        for state in self.states:
            if state.keep not in self._aggregates:
                self._aggregates[state.keep] = state.keep(cluster)

    def of(self, keep: Callable[[Cluster], K]) -> K:
        """The one that was made so. Raises KeyError where no state has it."""
        aggregate: K = self._aggregates[keep]
        return aggregate

    def changed(self, change: Change) -> None:
        for aggregate in self._aggregates.values():
            aggregate.changed(change)

    def settle(self) -> Iterator[None]:
        for aggregate in self._aggregates.values():
            yield from aggregate.settle()
