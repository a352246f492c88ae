"""What shows that a node is being drained. A cordon does not: `kubectl cordon` evicts nothing, and a worker of KubeVirt
carries nothing but launcher pods, pods of DaemonSets and those of the kubelet, whether or not somebody drains it.

Signs are a taint of a drain, a NodeMaintenance, and, on a node that is cordoned, what the MachineConfig operator of
OpenShift or kured note of a drain, a VMI that was asked to leave it or a pod that was evicted, both since the cordon:
what was asked before, and never cancelled, was another drain. Where a time is not known, a sign counts for what is
reported, and not for what is written (`certain`).

Not seen here: a drain that meets nothing but VMIs whose evictions are refused for good: that leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import Node
from ....store.kinds.node_maintenance import NodeMaintenance
from ....store.kinds.pod import DrainRole, Pod
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.text.since import Since, Time

__all__ = ["OnNode", "signs", "standing"]

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


def signs(node: OnNode, *, certain: bool = False) -> tuple[str, ...]:
    """What shows that the node is being drained, in words, in order; with `certain` only what can't be of before."""
    return tuple(sorted(_signs(node, certain)))


def _signs(node: OnNode, certain: bool) -> Iterator[str]:
    kept = standing(node.maintenances)
    ends = any(node.maintenances) and not kept
    for key in node.taints:
        if not (ends and key == _MAINTENANCE_TAINT):  # its operator removes that last
            yield f"taint {key}"
    if not node.cordoned:
        return
    if node.node is not None and node.node.drained_by and not certain:
        yield f"{node.node.drained_by} drains it"
    yield from (f"{each.ref}" for each in kept)
    if any(_asked(node, each.asked, certain) for each in node.vmis if _of_a_drain(node, each)):
        yield "VMIs are asked to leave it"
    if any(_evicted(node, each, certain) for each in node.pods if each.node == node.name):
        yield "pods on it were evicted and end"


def _of_a_drain(node: OnNode, vmi: VirtualMachineInstance) -> bool:
    """Whether its evacuation request may be one of a drain: the descheduler and updates of KubeVirt evict too."""
    updated = vmi.outdated and node.kubevirt is not None and node.kubevirt.evicts_outdated
    return vmi.evacuation == node.name and not vmi.descheduled and not updated


def _asked(node: OnNode, asked: Time, certain: bool) -> bool:
    """The time of a write is the last of that writer: the request may be older, and is no younger."""
    since, source = asked
    if certain and source is not Since.CONDITION:
        return False
    return _after_the_cordon(node, since, certain)


def _evicted(node: OnNode, pod: Pod, certain: bool) -> bool:
    if pod.evicted is None or pod.deleting is None or pod.role not in _EVICTABLE:
        return False
    return _after_the_cordon(node, pod.evicted or None, certain)


def _after_the_cordon(node: OnNode, moment: float | None, certain: bool) -> bool:
    cordoned = node.node.cordoned if node.node is not None else None
    if moment is None or cordoned is None:
        return not certain
    return moment >= cordoned - _ONE_MOMENT
