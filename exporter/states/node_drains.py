"""What is left on each node that is cordoned or drained, by what becomes of it; nothing of any other node.

A change marks the nodes that it concerns, and only those that somebody empties are counted again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum

from ..model.cluster import Change, Cluster
from ..model.eviction import Answer, current_pod, drain_taints, emptied, evicted, strategy_of
from ..model.indexes.nodes import NODE, PDB
from ..model.kinds import (
    kube_virt,
    node,
    pod,
    pod_disruption_budget,
    virtual_machine_instance,
    virtual_machine_instance_migration,
)
from ..model.kinds.kube_virt import KubeVirt
from ..model.kinds.node import Node
from ..model.kinds.pod import Pod, Role
from ..model.kinds.pod_disruption_budget import PodDisruptionBudget
from ..model.kinds.virtual_machine_instance import VirtualMachineInstance
from ..model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from .base import Gauge, Sample, State

__all__ = ["STATE", "Drains", "Left"]

_SLICE = 4  # nodes, of a hundred VMIs each, which take a few milliseconds


class Left(StrEnum):
    """What becomes of a VMI; the first that holds."""

    TERMINATING = "terminating"  # it was deleted
    MIGRATING = "migrating"  # a migration of it runs
    STALE = "stale"  # it is marked to leave another node
    EXTERNAL = "external"  # whoever manages it has to answer
    BLOCKED = "blocked"  # it can't be migrated, or a PDB refuses
    SHUTS_DOWN = "shuts_down"  # an eviction shuts it down
    UNKNOWN = "unknown"  # whether it can be migrated was not evaluated yet, or no pod of it is seen
    WAITING = "waiting"  # it will be migrated


_BY_ANSWER = {
    Answer.EXTERNAL: Left.EXTERNAL,
    Answer.NOT_MIGRATABLE: Left.BLOCKED,
    Answer.PDB: Left.BLOCKED,
    Answer.PDBS: Left.BLOCKED,
    Answer.SHUTS_DOWN: Left.SHUTS_DOWN,
    Answer.NOT_EVALUATED: Left.UNKNOWN,
    Answer.PASSES: Left.UNKNOWN,
    Answer.MIGRATES: Left.WAITING,
}


class Drains:
    INDEXES = (NODE, PDB)

    def __init__(self, cluster: Cluster) -> None:
        """The cluster has to keep INDEXES, and `changed` to be reported of each of its changes."""
        self._cluster = cluster
        self._requested: dict[str, None] = {}
        self._left: dict[str, Counter[Left]] = {}

    def changed(self, change: Change) -> None:
        if change.kind is KubeVirt:
            self._requested.update(dict.fromkeys(self._cluster.keys(NODE)))
        for index, key in change.touched:
            if index is NODE:
                self._requested[key] = None
            elif index is PDB and change.kind is PodDisruptionBudget and self._left:
                self._mark_listeners(key)

    def _mark_listeners(self, namespace: str) -> None:
        for each in self._cluster.dependents(PDB, namespace):
            if isinstance(each, VirtualMachineInstance) and each.node in self._left:
                self._requested[each.node] = None

    def settle(self) -> Iterator[None]:
        done = 0
        while self._requested:
            name = self._requested.popitem()[0]
            kubevirt = min(self._cluster.all(KubeVirt), key=lambda each: each.ref, default=None)
            found = self._cluster.get(Node, "", name)
            if found is None or not (emptied(found) or drain_taints(found, kubevirt)):
                self._left.pop(name, None)
                continue
            self._left[name] = self._count(name, kubevirt)
            done += 1
            if done % _SLICE == 0:
                yield

    def _count(self, name: str, kubevirt: KubeVirt | None) -> Counter[Left]:
        there = tuple(self._cluster.sharing(NODE, name))
        pods: dict[str, list[Pod]] = defaultdict(list)
        for each in there:
            if isinstance(each, Pod) and each.role is Role.LAUNCHER:
                pods[each.vmi_uid].append(each)
        moving = {
            (each.namespace, each.vmi)
            for each in there
            if isinstance(each, VirtualMachineInstanceMigration) and each.running
        }
        return Counter(
            self._becomes(each, pods[each.uid], kubevirt, running=(each.namespace, each.name) in moving)
            for each in there
            if isinstance(each, VirtualMachineInstance)
        )

    def _becomes(
        self, vmi: VirtualMachineInstance, pods: list[Pod], kubevirt: KubeVirt | None, *, running: bool
    ) -> Left:
        if vmi.deleting is not None:
            return Left.TERMINATING
        if running or vmi.migrating:
            return Left.MIGRATING
        if vmi.evacuation and vmi.evacuation != vmi.node:
            return Left.STALE
        strategy = strategy_of(vmi, kubevirt)
        pdbs = [b for b in self._cluster.sharing(PDB, vmi.namespace) if isinstance(b, PodDisruptionBudget)]
        answer = evicted(vmi, current_pod(vmi, pods), strategy, pdbs).answer
        return _BY_ANSWER[answer]

    def left(self) -> dict[str, Counter[Left]]:
        """By the name of each node that is cordoned or drained, in order."""
        return dict(sorted(self._left.items()))


def _samples(drains: Drains) -> Iterator[Sequence[Sample]]:
    for name, counts in drains.left().items():
        yield [((name, state.value), counts[state]) for state in Left]


STATE = State(
    keep=Drains,
    gauges=(
        Gauge(
            "kubevirt_node_drain_vmis",
            "VMIs that are left on a node that is cordoned or drained, by what becomes of them.",
            ("node", "state"),
            _samples,
        ),
    ),
    reads=(
        node.KIND,
        virtual_machine_instance.KIND,
        virtual_machine_instance_migration.KIND,
        pod.KIND,
        pod_disruption_budget.KIND,
        kube_virt.KIND,
    ),
    indexes=Drains.INDEXES,
)
