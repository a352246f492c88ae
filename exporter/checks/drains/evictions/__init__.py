"""VMIs that should leave their node and can't; nodes whose drain makes no progress.

KubeVirt's webhook denies the eviction of a launcher pod and requests the evacuation of the VMI instead
(`status.evacuationNodeName`). KubeVirt then migrates it, or leaves that to the controller that manages it (strategy
External). Each step can get stuck in silence: a drain only repeats its request.

A VMI has one reason at a time, the most specific one: StuckTerminating; where the webhook lets an eviction pass,
UserPDB, MultiplePDB, RequestWithUnmanagedStrategy, LegacyTaintIgnored, WillShutDown; where it does not,
StaleEvacuationRequest, ExternalAwaiting, NotMigratable or NotMigratableAfterRequest, MigrationFailing,
MigrationHanging, TargetUnschedulable, TargetNotStarting, MigrationPending, RequestOnSchedulableNode or
RequestByWorkloadUpdate, RequestQueued, MigrationQueued or DeschedulingQueued, NotStarted. Seven stand beside another:
ExternalNoHandler, MigrationOverdue after an hour in the queue, NotMigratableWhileCordoned and PDBWhileCordoned after an
hour of cordon, MigrationHanging where those before it failed, and, where its migrations fail, hang, are held up or are
not made, RequestOnSchedulableNode or RequestByWorkloadUpdate. A VMI that migrates and makes progress has none.

NodeLost, CordonedWithVMs and MaintenanceWithoutCordon are of a node as a whole: VMIs on one that is not Ready, which
KubeVirt starts nowhere else before their launcher pods are gone (checkVirtLauncherPodsAndUpdateVMIStatus in
pkg/virt-controller/watch/node of kubevirt/kubevirt), with when Kubernetes deletes these, and which of the VMIs are
started again then; a node that was cordoned a quarter of an hour ago and that nobody drains; a NodeMaintenance whose
cordon somebody took off.

A node counts as being drained if it has a drain taint; or if it is cordoned and something else shows it: a
NodeMaintenance that is not being deleted, a note of OpenShift's MachineConfig operator or of kured, the annotation
`steward.kubevirt-steward.io/draining` with a text that is not `false`, or, since the cordon or at a time that is not
known, a VMI that was asked to leave it or a pod that was evicted and ends. The last two count here, and for no write
(`stop_blocked_vmi`): whoever may evict one pod makes them. Requests of the descheduler, and those by which KubeVirt
replaces launchers of an earlier release, are none of a drain. A cordon alone is no drain, whatever is left on the node:
what would be in the way is an info, and a warning after an hour. With KubeVirt's own taint its VMIs are migrated
without a request.

Not seen here: KubeVirt before 1.5, whose webhook lets a second request pass; who asked for an eviction; evictions that
were refused and left no trace, so that a drain that meets nothing but these looks like a cordon; the nodes that a
volume is accessible from; since when a VMI is asked to leave, where KubeVirt is older than 1.7 and its managedFields
were taken off: there the time of its drain counts (a NodeMaintenance, the taint of the cordon, the request of another
VMI), where one is known; a copy that makes no progress in post-copy, or with both time-outs of KubeVirt set to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....domain.drains.departure import (
    Departure,
    NodeContext,
    departure,
    drain_context,
    each_departure,
    in_order,
    node_context,
    orphans,
)
from ....domain.drains.health import treated
from ....findings.check import Check, Lookup, Scope, View
from ....findings.finding import Finding
from ....findings.next_steps import next_step
from ....store.indexes.drains import HANDLER, NODE, PDB, REQUESTED, RUNNING, TARGET
from ....store.indexes.networks import VM
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.kubevirt_machine import KubevirtMachine
from ....store.kinds.node import Node, NodeMaintenance
from ....store.kinds.pod import Pod
from ....store.kinds.pod_disruption_budget import PodDisruptionBudget
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from .._remedies import forbidden_by
from .standing import REASONS, of_node, residual

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding | None]:
    context = node_context(drain_context(view), view.partition)
    found: list[Departure] = []
    for each in each_departure(context) if context.closed else _asked(context):
        found.append(treated(each, context.node))
        yield None
    found = in_order(found)
    for each in found:
        reasons = () if context.draining or not context.closed else _IF_DRAINED.get(each.reason, ())
        for reason in reasons:
            yield from _findings(_if_drained(each, reason, context), context)
        if not reasons:
            yield from _findings(each, context)
    if context.draining:
        yield from residual(context, found)
    yield from of_node(context, found)


def _asked(context: NodeContext) -> Iterator[Departure]:
    """Of a node that nobody wants to be empty, as most are: only a request can be in the way of an eviction there."""
    yield from orphans(context)
    asked = (vmi for vmi in context.vmis if vmi.evacuation and vmi.deleting is None)
    yield from (departure(vmi, context) for vmi in asked)


# What a drain that nobody is seen to make would meet: at once, and once the node has been cordoned for an hour.
_IF_DRAINED = {
    "NotMigratable": ("NotMigratableIfDrained", "NotMigratableWhileCordoned"),
    "UserPDB": ("PDBIfDrained", "PDBWhileCordoned"),
    "MultiplePDB": ("PDBIfDrained", "PDBWhileCordoned"),
}


def _if_drained(found: Departure, reason: str, context: NodeContext) -> Departure:
    of, case = found.remedy.of
    # On a cordon alone nothing is to be stopped, and no PDB relaxed, before it is known whether a drain is meant.
    remedy = replace(found.remedy, of=(reason, case)) if of in _IF_DRAINED else found.remedy
    return replace(found, reason=reason, remedy=remedy, due=True, since=context.since)


def _findings(found: Departure, context: NodeContext) -> Iterator[Finding]:
    if not found.due or found.reason not in REASONS:
        return
    yield Finding(
        reason=found.reason,
        severity=REASONS[found.reason].severities[0],
        subject=found.subject.ref,
        message=found.why,
        related=found.related,
        vm=found.subject.domain if isinstance(found.subject, Pod) else "",
        node=context.name,
        since=found.since[0],
        since_source=found.since[1],
        evidence={name: fact for name, fact in found.evidence.items() if fact not in ("", [], None)},
        next=next_step(found.remedy, found.values),
        commands=found.commands,
        does=found.remedy.does,
        forbids=forbidden_by(found),
    )
    for each in found.also:
        yield from _findings(each, context)


CHECK = Check(
    id="evictions",
    title="VMIs that should leave their node and can't",
    reads=(
        VirtualMachineInstance.KIND,
        VirtualMachineInstanceMigration.KIND,
        Pod.KIND,
        Node.KIND,
        PodDisruptionBudget.KIND,
        KubeVirt.KIND,
        NodeMaintenance.KIND,
        KubevirtMachine.KIND,
        VirtualMachine.KIND,
    ),
    scope=Scope("one node", NODE),
    looks_up=(PDB, HANDLER, REQUESTED, RUNNING, TARGET, Lookup(VM, (VirtualMachine,))),
    reasons=REASONS,
    find=find,
    fields_read=(VirtualMachineInstance.KIND, Pod.KIND, Node.KIND, KubeVirt.KIND, VirtualMachine.KIND),
    requires=(VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND),
)
