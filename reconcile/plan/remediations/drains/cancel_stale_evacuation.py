"""Cancels the evacuation request of a VMI that nobody carries out, by KubeVirt's subresource evacuate/cancel.

The request names the node that it was made for, and KubeVirt cancels it only by that name: if there is another request
by then, nothing happens. KubeVirt looks that node up, so a request for a node that does not exist can't be cancelled
(pkg/virt-api/rest/evacuate_cancel.go of kubevirt/kubevirt, since v1.7.0); `migrate_marked_vmi` is for that. A request
that a drain waits for is left alone, and so is a VMI whose strategy is External: its controller acts on the request.

Undo: where KubeVirt migrates the VMI and it is on the node that the request named, an eviction of its pod makes the
request anew. Otherwise none.
"""

from __future__ import annotations

from exporter.domain.drains.departure.vmi import VMIContext
from exporter.domain.drains.eviction import EvictionAnswer, kubevirt_taint
from exporter.findings.finding import Finding
from exporter.store.kinds.node import Node

from ...guards import guard
from ...plan import Action, Call, Plan, Refused, Risk
from ...remediation import Remediation, Scene, Write
from ...undo import NoUndo
from .._grounds import under_way
from ._leaving import leaving, unfinished

_SERVED = (1, 7)  # pkg/virt-api/api.go at v1.7.0
# The API server takes one part of a path as the subresource (RequestInfo in k8s.io/apiserver), and so does virt-api up
# to v1.8; later it takes all that is left and asks for that too (pkg/virt-api/rest/authorizer.go of kubevirt/kubevirt).
_PERMISSIONS = tuple(
    Write("subresources.kubevirt.io", f"virtualmachineinstances/{subresource}", ("update",))
    for subresource in ("evacuate", "evacuate/cancel")
)


@guard(
    leaving,
    under_way,
    {
        "supported": "the version of KubeVirt is known to serve evacuate/cancel (v1.7 or later)",
        "not_external": "the VMI's strategy is not External, with which another controller uses the request",
        "no_migration": "no migration of the VMI is unfinished",
        "node_exists": "the node that the request names exists, since KubeVirt looks it up",
        "not_being_drained": "no sign shows that a drain waits for the VMI to leave its node",
        "no_drain_taint": "the node that the request names does not have KubeVirt's drain taint",
    },
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    own = leaving(finding, scene)
    if isinstance(own, Refused):
        return own
    if refused := _refused(own, scene) or under_way(scene, own.vmi.namespace, (own.vmi.name,)):
        return refused
    named = own.vmi.evacuation
    return REMEDIATION.planned(
        finding,
        Call(target=finding.subject, action=Action.CANCEL_EVACUATION, body={"evacuationNodeName": named}),
        effect=f"The evacuation request for {named} is cancelled, if the VMI still has it; {_then(own)}.",
        undo=_undo(own),
    )


def _refused(own: VMIContext, scene: Scene) -> Refused | None:
    vmi, kubevirt = own.vmi, own.node.drain.kubevirt
    version = kubevirt.upstream if kubevirt is not None else ""
    if kubevirt is None or kubevirt.release < _SERVED:
        return Refused(
            "supported",
            f"KubeVirt {version or 'of unknown version'} isn't known to serve evacuate/cancel, which v1.7.0 serves. "
            "Migrate the VMI instead",
        )
    if own.strategy == "External":
        who = f"KubevirtMachine {vmi.handler}" if vmi.handler else vmi.owner or "the controller that manages it"
        return Refused("not_external", f"{vmi.ref} has strategy External: the request is for {who}")
    if (running := unfinished(own)) or vmi.migrating:
        return Refused("no_migration", running or f"by its status {vmi.ref} is migrating")
    named = scene.named(Node, "", vmi.evacuation)
    if named is None:
        return Refused(
            "node_exists",
            f"node {vmi.evacuation} doesn't exist, so KubeVirt can't cancel the request. Migrate the VMI instead",
        )
    if vmi.evacuation == vmi.node and (why := _drain(own)):
        return Refused(
            "not_being_drained", f"{vmi.ref} is on node {vmi.node}, {why}: a drain might wait for it to leave"
        )
    if taint := kubevirt_taint(named, kubevirt):
        return Refused("no_drain_taint", f"node {named.name} has taint {taint}, with which KubeVirt cancels no request")
    return None


def _drain(own: VMIContext) -> str:
    """What suggests that its node is being drained; empty for nothing."""
    if own.node.cordoned:
        return "which is cordoned"
    if own.node.taints:
        return f"which has taint {own.node.taints[0]}"
    found = sorted(str(each.ref) for each in own.node.maintenances if each.deleting is None)
    return f"which {found[0]} is for" if found else ""


def _then(own: VMIContext) -> str:
    """What the next eviction of its pod comes to."""
    if own.verdict.answer is EvictionAnswer.MIGRATES:
        return f"KubeVirt migrates it only once its pod is evicted from {own.vmi.node} again"
    if own.verdict.answer in (EvictionAnswer.NOT_MIGRATABLE, EvictionAnswer.NOT_EVALUATED):
        return "KubeVirt still rejects evictions of its pod, because it can't be migrated"
    return "an eviction of its pod shuts the guest down, as before"


def _undo(own: VMIContext) -> str:
    vmi = own.vmi
    if own.verdict.answer is EvictionAnswer.MIGRATES and vmi.evacuation == vmi.node:
        return f"an eviction of its pod makes the evacuation request again for {vmi.node}"
    if vmi.evacuation == vmi.node:
        return "none: no eviction of its pod makes a request, because KubeVirt would not migrate it"
    return f"none: only an eviction on {vmi.evacuation} makes that request, and the VMI is not there"


REMEDIATION = Remediation(
    id="cancel_stale_evacuation",
    title="Cancel a leftover evacuation request",
    writes=_PERMISSIONS,
    plan=_plan,
    risk=Risk.NONE,
    undo="an eviction of its pod on the same node makes the request again, if KubeVirt migrates it; otherwise none",
)


# An evacuation request that was cancelled is made by nothing but an eviction.

UNDO = NoUndo(
    "cancel_stale_evacuation",
    "Evict the VMI's pod if it has to leave its node after all: where KubeVirt migrates the VMI, it makes the request "
    "anew.",
)
