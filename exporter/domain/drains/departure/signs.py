"""What shows that a node is being drained. A cordon does not: `kubectl cordon` evicts nothing, and a worker of KubeVirt
carries nothing but launcher pods, pods of DaemonSets and those of the kubelet, whether or not somebody drains it.

Proofs take permissions for nodes or cluster-wide objects: a taint of a drain, and, on a node that is cordoned, a
NodeMaintenance, and what the MachineConfig operator of OpenShift, kured, or whoever else drains it notes on the Node.
Signs are these, and, on a node that is cordoned, a VMI that was asked to leave it or a pod that was evicted, both since
the cordon, or at a time that is not known: what was asked before, and never cancelled, was another drain. Whoever may
evict one pod in one namespace makes such a sign, as do a descheduler and an autoscaler of pods: it counts for what is
reported, and for no write.

Not seen here: a drain that meets nothing but VMIs whose evictions are refused for good: that leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ....store.indexes.drains import ANY_NODE, DRAINED_NODE
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import Node, NodeMaintenance
from ....store.kinds.pod import DrainRole, Pod
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.reader import ClusterView
from ..eviction import cordoned, drain_taints

_MAINTENANCE_TAINT = "medik8s.io/drain"
# Seconds: the taint of a cordon is added, with its time, by a controller that sees the cordon a little later than who
# goes on to evict.
_ONE_MOMENT = 10.0
_EVICTABLE = (DrainRole.LAUNCHER, DrainRole.OTHER)  # a drain leaves the rest where it is


class OnNode(Protocol):
    """A node with what is on it, as `NodeContext` has it."""

    @property
    def name(self) -> str: ...
    @property
    def node(self) -> Node | None: ...
    @property
    def vmis(self) -> Iterable[VirtualMachineInstance]: ...
    @property
    def pods(self) -> Iterable[Pod]: ...
    @property
    def maintenances(self) -> Iterable[NodeMaintenance]: ...
    @property
    def cordoned(self) -> bool: ...
    @property
    def taints(self) -> Iterable[str]: ...
    @property
    def kubevirt(self) -> KubeVirt | None: ...


def standing(maintenances: Iterable[NodeMaintenance]) -> list[NodeMaintenance]:
    """Those that are not being deleted: deleting one ends its maintenance."""
    return [each for each in maintenances if each.deleting is None]


def signs(node: OnNode) -> tuple[str, ...]:
    """What shows that the node is being drained, in words, in order."""
    return tuple(sorted((*_proofs(node), *_traces(node))))


def proofs(node: OnNode) -> tuple[str, ...]:
    """Those of the signs that nobody makes who has permissions in namespaces alone."""
    return tuple(sorted(_proofs(node)))


def _proofs(node: OnNode) -> Iterator[str]:
    kept = standing(node.maintenances)
    ends = any(node.maintenances) and not kept
    for key in node.taints:
        if not (ends and key == _MAINTENANCE_TAINT):  # its operator removes that last
            yield f"taint {key}"
    if not node.cordoned:
        return
    if node.node is not None and node.node.drained_by:
        yield f"{node.node.drained_by} is draining it"
    yield from (f"{each.ref}" for each in kept)


def _traces(node: OnNode) -> Iterator[str]:
    if not node.cordoned:
        return
    if any(_after_the_cordon(node, each.asked[0]) for each in node.vmis if _of_a_drain(node, each)):
        yield "VMIs on it have evacuation requests"
    if any(_evicted(node, each) for each in node.pods if each.node == node.name):
        yield "evicted pods on it are terminating"


def _of_a_drain(node: OnNode, vmi: VirtualMachineInstance) -> bool:
    """Whether its evacuation request may be one of a drain: the descheduler and updates of KubeVirt evict too."""
    updated = vmi.outdated and node.kubevirt is not None and node.kubevirt.evicts_outdated
    return vmi.evacuation == node.name and not vmi.descheduled and not updated


def _evicted(node: OnNode, pod: Pod) -> bool:
    if pod.evicted is None or pod.deleting is None or pod.role not in _EVICTABLE:
        return False
    return _after_the_cordon(node, pod.evicted or None)


def _after_the_cordon(node: OnNode, moment: float | None) -> bool:
    """A request that is known by the last write of its writer may be older than that, and is no younger."""
    cordoned = node.node.cordoned if node.node is not None else None
    return moment is None or cordoned is None or moment >= cordoned - _ONE_MOMENT


# Whether the drain of a node is over: it takes VMs again, or it is gone and another node does.
#
# "Takes VMs" is what KubeVirt asks of a node for launcher pods (`kubevirt.io/schedulable`), beside what Kubernetes
# does.

_SCHEDULABLE = "kubevirt.io/schedulable"


def goes_on(view: ClusterView, name: str) -> str:
    """Why the drain of a node is not over, in words; empty where it is. The view has the index DRAINED_NODE."""
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    there = [each for each in view.sharing(DRAINED_NODE, name) if isinstance(each, Node) and each.name == name]
    maintained = [each for each in view.sharing(DRAINED_NODE, name) if isinstance(each, NodeMaintenance)]
    if maintained:  # one that is being deleted is there until its operator has put the node back
        return f"{min(each.ref for each in maintained)} exists"
    if there:
        return _closed(there[0], kubevirt)
    others = (each for each in view.sharing(DRAINED_NODE, ANY_NODE) if isinstance(each, Node))
    if any(not _closed(each, kubevirt) for each in others):
        return ""
    return f"node {name} does not exist, and no other node can run VMs"


def _closed(node: Node, kubevirt: KubeVirt | None) -> str:
    """Why a node takes no VMs; empty where it does."""
    if node.deleting is not None:
        return f"node {node.name} is being deleted"
    if cordoned(node):
        return f"node {node.name} is cordoned"
    if taints := drain_taints(node, kubevirt):
        return f"node {node.name} has taint {taints[0]}"
    if not node.ready:
        return f"node {node.name} is not Ready"
    return "" if node.labels.get(_SCHEDULABLE) == "true" else f"node {node.name} is unschedulable for KubeVirt"
