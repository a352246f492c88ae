"""The VMIs that are left on each node that is cordoned or drained, by the state of their departure; since when it is
drained; no other node.

A change notes the nodes that it concerns, and only those that are cordoned or drained are counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..domain.drains.departure import DrainContext, DrainState, departures, drain_context, node_context
from ..domain.drains.departure.context import INDEXES
from ..domain.drains.health import grounded
from ..store.cluster import Change, Cluster
from ..store.indexes.drains import NODE, PDB, RUNNING
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.node import Node, NodeMaintenance
from ..store.kinds.pod import Pod
from ..store.kinds.pod_disruption_budget import PodDisruptionBudget
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..store.reader import ClusterView
from .base import Gauge, Sample, State

_SLICE = 4  # nodes, of a hundred VMIs each, which take a few milliseconds
# One that arrives is counted on the node that it leaves.
_COUNTED = tuple(state for state in DrainState if state is not DrainState.ARRIVING)


@dataclass(frozen=True, slots=True)
class _Drain:
    left: Counter[DrainState]
    since: float | None  # None while it is only cordoned, and where no object records it


class Drains:
    def __init__(self, cluster: Cluster) -> None:
        """The cluster has to keep the indexes of departures, and `changed` to be called for each of its changes."""
        self._cluster = cluster
        self._changed: dict[str, None] = {}
        self._drains: dict[str, _Drain] = {}

    def changed(self, change: Change) -> None:
        if change.kind is KubeVirt:
            self._changed.update(dict.fromkeys(self._cluster.keys(NODE)))
        for key in change.touched.get(NODE, ()):
            self._changed[key] = None
        if not self._drains:
            return
        for index in (RUNNING, PDB) if change.kind is PodDisruptionBudget else (RUNNING,):
            for key in change.touched.get(index, ()):
                waiting = self._cluster.dependents(index, key)
                nodes = (each.node if isinstance(each, VirtualMachineInstance) else each.name for each in waiting)
                self._changed.update(dict.fromkeys(name for name in nodes if name in self._drains))

    def settle(self) -> Iterator[None]:
        done = 0
        while self._changed:
            drain = drain_context(ClusterView(self._cluster, STATE))
            name = self._changed.popitem()[0]
            found = _drain(drain, name)
            if found is None:
                self._drains.pop(name, None)
                continue
            self._drains[name] = found
            done += 1
            if done % _SLICE == 0:
                yield

    def left(self) -> dict[str, Counter[DrainState]]:
        """By the name of each node that is cordoned or drained, in order."""
        return {name: each.left for name, each in sorted(self._drains.items())}

    def started(self) -> dict[str, float]:
        """Since when each node is drained, where an object records it, in order."""
        return {name: each.since for name, each in sorted(self._drains.items()) if each.since}


def _drain(drain: DrainContext, name: str) -> _Drain | None:
    context = node_context(drain, name)
    if not context.closed:
        return None
    found = (grounded(each, context.node) for each in departures(context))
    of_vmis = (each for each in found if isinstance(each.subject, VirtualMachineInstance))
    left: Counter[DrainState] = Counter(each.state for each in of_vmis if each.state in _COUNTED)
    return _Drain(left, context.since[0] if context.draining else None)


def _left_samples(drains: Drains) -> Iterator[Sequence[Sample]]:
    for name, counts in drains.left().items():
        yield [((name, state.value), counts[state]) for state in _COUNTED]


def _started_samples(drains: Drains) -> Iterator[Sequence[Sample]]:
    for name, since in drains.started().items():
        yield [((name,), since)]


STATE = State(
    keep=Drains,
    gauges=(
        Gauge(
            "kubevirt_node_drain_vmis",
            "VMIs left on a cordoned or draining node, by the state of their departure.",
            ("node", "state"),
            _left_samples,
        ),
        Gauge(
            "kubevirt_node_drain_started_timestamp_seconds",
            "Time at which the drain of the node started: by its maintenance, else its taints, else its first "
            "evacuation request. No series if none of them records it.",
            ("node",),
            _started_samples,
        ),
    ),
    reads=(
        Node.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachineInstanceMigration.KIND,
        Pod.KIND,
        PodDisruptionBudget.KIND,
        KubeVirt.KIND,
        NodeMaintenance.KIND,
    ),
    indexes=INDEXES,
)
