"""How many VMIs have which eviction strategy, by their own spec or by KubeVirt's default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..facts.record import Record
from ..store.cluster import Change, Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from .base import Gauge, Sample, State

STRATEGIES = ("External", "LiveMigrate", "LiveMigrateIfPossible", "None")


class Strategies:
    """Counts by the strategy in each VMI's spec; the default is looked up when asked."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._own: Counter[str] = Counter()

    def changed(self, change: Change) -> None:
        self._count(change.before, -1)
        self._count(change.after, 1)

    def _count(self, record: Record | None, number: int) -> None:
        if isinstance(record, VirtualMachineInstance) and not record.final:
            self._own[record.strategy] += number
            if not self._own[record.strategy]:
                del self._own[record.strategy]  # any text may be a strategy: those that went leave no series

    def settle(self) -> Iterator[None]:
        return iter(())

    def counts(self) -> dict[str, int]:
        """VMIs that have not ended, by the strategy that applies to them."""
        kubevirt = min(self._cluster.all(KubeVirt), key=lambda each: each.ref, default=None)
        default = (kubevirt.strategy if kubevirt is not None else "") or "None"
        counts = dict.fromkeys(STRATEGIES, 0)
        for own, number in self._own.items():
            counts[own or default] = counts.get(own or default, 0) + number
        return counts


def _samples(strategies: Strategies) -> Iterator[list[Sample]]:
    yield [((strategy,), number) for strategy, number in sorted(strategies.counts().items())]


STATE = State(
    keep=Strategies,
    gauges=(
        Gauge(
            "kubevirt_vmi_eviction_strategy",
            "Unfinished VMIs, by their effective eviction strategy.",
            ("strategy",),
            _samples,
        ),
    ),
    reads=(VirtualMachineInstance.KIND, KubeVirt.KIND),
)
