"""Whether the drain of a node is over: it takes VMs again, or it is gone and another node does.

"Takes VMs" is what KubeVirt asks of a node for launcher pods (`kubevirt.io/schedulable`), beside what Kubernetes does.
"""

from __future__ import annotations

from ....store.indexes.stops import ANY_NODE, DRAINED_NODE
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import Node
from ....store.kinds.node_maintenance import NodeMaintenance
from ....store.reader import ClusterView
from ..eviction import cordoned, drain_taints

_SCHEDULABLE = "kubevirt.io/schedulable"


def goes_on(view: ClusterView, name: str) -> str:
    """Why the drain of a node is not over, in words; empty where it is. The view has the index DRAINED_NODE."""
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    there = [each for each in view.sharing(DRAINED_NODE, name) if isinstance(each, Node) and each.name == name]
    maintained = [each for each in view.sharing(DRAINED_NODE, name) if isinstance(each, NodeMaintenance)]
    if maintained:  # one that is being deleted is there until its operator has put the node back
        return f"{min(each.ref for each in maintained)} is there"
    if there:
        return _closed(there[0], kubevirt)
    others = (each for each in view.sharing(DRAINED_NODE, ANY_NODE) if isinstance(each, Node))
    if any(not _closed(each, kubevirt) for each in others):
        return ""
    return f"node {name} does not exist, and no other node takes VMs"


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
    return "" if node.labels.get(_SCHEDULABLE) == "true" else f"KubeVirt takes node {node.name} for unschedulable"
