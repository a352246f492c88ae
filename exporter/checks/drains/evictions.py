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

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...domain.drains.departure import (
    Departure,
    DrainState,
    NodeContext,
    departure,
    drain_context,
    each_departure,
    in_order,
    node_context,
    orphans,
)
from ...domain.drains.departure.signs import standing
from ...domain.drains.departure.vmi import text
from ...domain.drains.health import deletion, stays_down, treated
from ...facts.naming import NAMED, counted, named
from ...facts.record import UnseenError
from ...facts.times import UNKNOWN, Since, Time
from ...findings.advice import next_step
from ...findings.check import Check, Lookup, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import HANDLER, NODE, PDB, REQUESTED, RUNNING, TARGET
from ...store.indexes.networks import VM
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.kubevirt_machine import KubevirtMachine
from ...store.kinds.node import Node, NodeMaintenance
from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ._remedies import forbidden_by, remedied

__all__ = ["CHECK"]

REASONS = remedied(reasons_of("evictions"))
TEXTS = Texts("evictions")
BLOCKED = "kubevirt_vmi_eviction_blocked"
"""The metric family of what is in the way of a drain."""

# Of a VMI that nobody asks to leave: what would become of it.
_WOULD_LEAVE = (DrainState.WAITING, DrainState.MAY_MIGRATE, DrainState.EXTERNAL, DrainState.SHUTS_DOWN)


def of_node(node: NodeContext, found: Iterable[Departure]) -> Iterator[Finding]:
    """`found` are the departures of all VMIs of a node that is cordoned."""
    if node.node is None:
        return
    here = sorted((vmi for vmi in node.vmis if vmi.deleting is None), key=lambda vmi: vmi.ref)
    if not node.node.ready and here:
        yield _lost(node, here)
    elif node.cordoned and not node.draining and not node.taints:
        left = [each for each in found if each.state in _WOULD_LEAVE and not each.due]
        if left:
            yield _idle(node, len(left))
    maintained = standing(node.maintenances)
    if maintained and not node.closed:
        first = min(each.ref for each in maintained)
        yield _finding(
            node,
            "MaintenanceWithoutCordon",
            TEXTS.message("MaintenanceWithoutCordon", maintenance=first),
            since=(max(each.created or 0.0 for each in maintained) or None, Since.CREATION),
            maintenance=first.name,
        )


def _lost(node: NodeContext, here: list[VirtualMachineInstance]) -> Finding:
    subject = node.node
    assert subject is not None  # of_node looks
    pods = [pod for pod in node.launchers if pod.node == node.name]
    ending = sum(1 for pod in pods if pod.deleting is not None)
    coming = deletion(subject, (pod for pod in pods if pod.deleting is None))
    down = _down(node, here)
    said = [TEXTS.message("NodeLost", vmis=counted(len(here), "VMI"))]
    if ending:
        said.append(TEXTS.message("NodeLost", "ending", pods=counted(ending, "launcher pod")))
    if coming.first is not None:
        deletes = "deletes_others" if ending else "deletes"
        said.append(TEXTS.message("NodeLost", deletes, time=text(coming.first)))
    if down is not None:
        said.append(_restarts(len(here), down))
    ran = any(vmi.phase == "Running" for vmi in here)
    return _finding(
        node,
        "NodeLost",
        " ".join(said),
        severity=Severity.CRITICAL if ran else Severity.WARNING,
        since=(subject.unready_since, Since.CONDITION),
        vmis=len(here),
        named=[f"{vmi.namespace}/{vmi.name}" for vmi in here[:NAMED]],
        podsEnding=ending or None,
        podsDeletedFrom=text(coming.first) or None,
        podsKept=coming.never or None,
        startAgain=len(here) - len(down) if down is not None else None,
        stayDown=down[:NAMED] if down else None,
    )


def _down(node: NodeContext, here: list[VirtualMachineInstance]) -> list[str] | None:
    """Those that nobody starts again; None where VMs can't be seen."""
    try:
        vms = [node.drain.view.named(VirtualMachine, vmi.namespace, vmi.name) for vmi in here]
    except UnseenError:
        return None
    why = ((vmi, stays_down(vmi, vm)) for vmi, vm in zip(here, vms, strict=True))
    return [f"{vmi.namespace}/{vmi.name} ({each})" for vmi, each in why if each]


def _restarts(count: int, down: list[str]) -> str:
    start = count - len(down)
    variant = "starts" if not down else "some_start" if start else "none_starts"
    return TEXTS.message("NodeLost", variant, vmis=counted(start, "VMI"), down=named(down))


def _idle(node: NodeContext, left: int) -> Finding:
    return _finding(node, "CordonedWithVMs", TEXTS.message("CordonedWithVMs", vmis=left), since=node.since, vmis=left)


def _finding(
    node: NodeContext,
    reason: str,
    message: str,
    *,
    since: tuple[float | None, Since],
    severity: Severity | None = None,
    **evidence: object,
) -> Finding:
    subject = node.node
    assert subject is not None  # of_node looks
    return Finding(
        reason=reason,
        severity=severity or REASONS[reason].severities[0],
        subject=subject.ref,
        message=message,
        node=node.name,
        since=since[0],
        since_source=since[1] if since[0] is not None else Since.FIRST_SEEN,
        evidence={name: fact for name, fact in evidence.items() if fact is not None},
    )


# The VMIs that are left on a node that is being drained, counted.


def residual(node: NodeContext, found: Iterable[Departure]) -> Iterator[Finding]:
    left = [d for d in found if isinstance(d.subject, VirtualMachineInstance) and d.state is not DrainState.ARRIVING]
    if node.node is None or not left:
        return
    held = [each for each in left if _blocked(each)]
    held += _behind(node, left)
    blocked = sorted(each.subject.ref for each in held)
    evidence = {
        "blocked": [f"{ref.namespace}/{ref.name}" for ref in blocked[:NAMED]],
        "drain": list(node.signals),
        "maintenance": sorted(f"{each.name}: {each.phase}" for each in node.maintenances if each.phase),
        "maintenanceErrors": sorted(each.error for each in node.maintenances if each.error),
    }
    times: dict[str, Time] = {"NodeDrainResidual": node.since}
    if len(blocked) == len(left):
        times["NodeDrainStalled"] = _stalled(node, held)
    for reason, since in times.items():
        # Each migration is in steps in which it may hang, for seconds: only a drain that stands still says which does.
        stalled = reason == "NodeDrainStalled"
        counts = dict(sorted(Counter(_counted_as(each, stalled=stalled) for each in left).items()))
        by_reason = ", ".join(f"{count} {code}" for code, count in counts.items())
        yield Finding(
            reason=reason,
            severity=REASONS[reason].severities[0],
            subject=node.node.ref,
            message=TEXTS.message(reason, vmis=counted(len(left), "VMI"), counts=by_reason),
            node=node.name,
            since=since[0],
            since_source=since[1],
            evidence={name: fact for name, fact in ({"left": counts} | evidence).items() if fact},
        )


def _stalled(node: NodeContext, held: list[Departure]) -> Time:
    """Since when all of them are blocked on a node that is drained; not known unless it is known of each."""
    times = [each.since for each in held]
    if any(each[0] is None or each[1] is Since.FIRST_SEEN for each in times):
        return UNKNOWN
    return max([*times, node.since], key=lambda each: each[0] or 0.0)


def _behind(node: NodeContext, left: Iterable[Departure]) -> list[Departure]:
    """Those whose turn does not come, since as many migrations as may run on the node all hang."""
    hanging = [each for each in left if each.reason == "MigrationHanging" and each.evidence.get("phase") != "Pending"]
    if node.kubevirt is None or not node.kubevirt.per_node <= node.outbound <= len(hanging):
        return []
    return [each for each in left if each.reason in ("MigrationQueued", "DeschedulingQueued", "RequestQueued")]


def _counted_as(departure: Departure, *, stalled: bool) -> str:
    """Its reason; without one, its state. Whether it takes too long to end or to migrate says a finding of its own."""
    plain = (DrainState.TERMINATING,) if stalled else (DrainState.TERMINATING, DrainState.MIGRATING)
    by_state = departure.state in plain or not departure.reason
    return departure.state.value.capitalize() if by_state else departure.reason


def _blocked(departure: Departure) -> bool:
    reason = REASONS.get(departure.reason) if departure.due else None
    return reason is not None and reason.family.name == BLOCKED and departure.state is not DrainState.TERMINATING


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
