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
from ...findings.pages import reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node

_NAMED = 6
_UNHEARD = (
    "Find out why virt-handler gives no sign on these nodes (its pods, its log, its device plugins): until then every"
    " start and every migration waits."
)


def find(view: View) -> Iterator[Finding]:
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    nodes = [node for node in view.all(Node) if any(key == SCHEDULABLE for key, _ in node.label_pairs)]
    if kubevirt is None or not nodes:
        return
    why = Counter(_closed(node, kubevirt) for node in nodes)
    if why[""]:
        return
    counted = ", ".join(f"{count} {each}" for each, count in why.most_common(_NAMED))
    yield Finding(
        reason="NoNodeTakesVMs",
        severity=Severity.WARNING,
        subject=kubevirt.ref,
        message=f"None of {len(nodes)} nodes takes VMs ({counted}): no VM starts, and every migration waits"
        if len(nodes) > 1
        else f"The only node takes no VMs ({counted}): no VM starts, and every migration waits",
        evidence={"nodes": len(nodes), "closed": {each: count for each, count in sorted(why.items()) if count}},
        next=_UNHEARD if set(why) <= {"", UNSCHEDULABLE} else "",
    )


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
