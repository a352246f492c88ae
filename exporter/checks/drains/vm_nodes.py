"""Whether any node takes VMs. Where none does, no VM starts and none moves: every migration waits for a node.

A node takes VMs where virt-handler has labelled it `kubevirt.io/schedulable=true`, it is Ready, not being deleted, and
neither cordoned nor tainted to be drained. Nodes without that label are none of KubeVirt's and do not count.

Not seen here: other taints, and what single VMs ask of a node; clusters that are switched off on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...domain.drains.eviction import drain_taints
from ...domain.features.node_sets import SCHEDULABLE, UNSCHEDULABLE, closed
from ...findings.causes import Cause
from ...findings.check import PER_CLUSTER, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node

_NAMED = 6
_TEXTS = Texts("vm_nodes")


def find(view: View) -> Iterator[Finding]:
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    nodes = [node for node in view.all(Node) if any(key == SCHEDULABLE for key, _ in node.label_pairs)]
    if kubevirt is None or not nodes:
        return
    why = Counter(_closed(node, kubevirt) for node in nodes)
    if why[""]:
        return
    closed_nodes = ", ".join(f"{count} {each}" for each, count in why.most_common(_NAMED))
    heartbeat = set(why) <= {"", UNSCHEDULABLE}
    yield Finding(
        reason="NoNodeTakesVMs",
        severity=Severity.WARNING if any(_meant(node, kubevirt) for node in nodes) else Severity.CRITICAL,
        subject=kubevirt.ref,
        message=_TEXTS.message(
            "NoNodeTakesVMs", "" if len(nodes) > 1 else "only", nodes=len(nodes), closed=closed_nodes
        ),
        evidence={"nodes": len(nodes), "closed": {each: count for each, count in sorted(why.items()) if count}},
        next=_TEXTS.next("NoNodeTakesVMs", "heartbeat" if heartbeat else ""),
    )


def _meant(node: Node, kubevirt: KubeVirt) -> bool:
    """Whether an administrator closed it."""
    return node.unschedulable or bool(drain_taints(node, kubevirt))


def _closed(node: Node, kubevirt: KubeVirt) -> str:
    """Why it takes no VMs; empty where it does."""
    taints = drain_taints(node, kubevirt)
    return closed(node) or (f"with taint {taints[0]}" if taints else "")


CHECK = Check(
    id="vm_nodes",
    title="Whether any node takes VMs",
    reads=(Node.KIND, KubeVirt.KIND),
    scope=PER_CLUSTER,
    cause=Cause.SUBJECT,
    reasons=reasons_of("vm_nodes"),
    find=find,
    fields_read=(Node.KIND, KubeVirt.KIND),
    requires=(KubeVirt.KIND, Node.KIND),
)
