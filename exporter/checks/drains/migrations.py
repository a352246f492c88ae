"""Migrations that fail again and again, wait or hang, though nobody drains their node; guests that may run twice.

A VMI is migrated for a drain, by an update of KubeVirt, of its volumes or of what was plugged into it, by the
descheduler, or because somebody asked for it. What is wrong with the migrations of one that has to leave its node
(it has an evacuation request, or KubeVirt's drain taint is on the node) the check `evictions` says. Of all others it is
said here with the same reasons: an info while nobody waits for it, and a warning where somebody does: the node is
cordoned or tainted to be drained, or an update of KubeVirt made the migration. Whoever made them, it is a warning where
trying again does not help: three in a row failed, each attempt fails in the same way while the guest runs, or the
target can't be scheduled for the VMI's volumes or for CPU features that no node reports any more.

SourcePodLeft stands beside any of these: two launcher pods of one VMI run though its last migration has ended. After
one that succeeded the guest may run in both, on the same disks (kubevirt/kubevirt#15711, #16622); after one that failed
the other pod is the target, where no guest should run. Not reported: a pod whose container compute has ended while a
sidecar goes on, a pod that is being deleted, and whatever is there while a migration of the VMI is under way. The two
ends of a migration between namespaces or clusters are two VMIs, each with one pod.

Not seen here: a copy that makes no progress in post-copy, or with both time-outs of KubeVirt set to 0; failures whose
migrations were deleted (KubeVirt keeps five of a VMI), which `/api/v1/migrations` has while the exporter runs; whether
QEMU runs in a pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.drains.departure import Departure, drain_context
from ...domain.drains.departure.vmi import VMIContext
from ...domain.drains.moving import doubled, moving, troubles
from ...facts.naming import NAMED
from ...findings.advice import next_step
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import MIGRATED, PART, TARGET
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ._remedies import fails_again, forbidden_by, remedied

_INFO, _WARNING, _CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL

_REASONS = remedied(reasons_of("migrations"))
_TEXTS = Texts("migrations")


def find(view: View) -> Iterator[Finding | None]:
    drain = drain_context(view)
    for vmi in _migrated(view):
        own = moving(drain, vmi)
        yield from _doubled(own)
        if not own.asked and not vmi.evacuation:
            yield from (_finding(own, each) for each in troubles(own) if each.reason in _REASONS)
        yield None


def _migrated(view: View) -> Iterator[VirtualMachineInstance]:
    """The VMI of the partition, where it is there and on a node."""
    namespace, _, name = view.partition.partition("/")
    vmi = view.named(VirtualMachineInstance, namespace, name)
    if vmi is not None and vmi.node and not vmi.final and vmi.deleting is None:
        yield vmi


def _doubled(own: VMIContext) -> Iterator[Finding]:
    left, since = doubled(own)
    last, pod = own.vmi.migration, own.pod
    if not left or last is None or pod is None:
        return
    first = left[0]
    others = ", ".join(f"{each.name} on {each.node}" for each in left[:NAMED])
    yield Finding(
        reason="SourcePodLeft",
        severity=_WARNING if last.failed else _CRITICAL,
        subject=own.vmi.ref,
        related=tuple(each.ref for each in left),
        message=_TEXTS.message(
            "SourcePodLeft", "failed" if last.failed else "", pod=pod.name, node=own.vmi.node, others=others
        ),
        next=_left_next(first.name if len(left) == 1 else "", failed=last.failed),
        node=own.vmi.node,
        since=since[0],
        since_source=since[1],
        evidence={
            "pod": pod.name,
            "leftPod": first.name,
            "leftPodUid": first.uid,
            "leftOn": sorted({each.node for each in left}),
            "migrationFailed": last.failed,
            "source": last.source,
            "target": last.target,
        },
    )


def _left_next(pod: str, *, failed: bool) -> str:
    """`pod` is the only one that is left; empty of several."""
    said = _TEXTS.next_if_short("SourcePodLeft", "failed_named" if failed else "named", pod=pod) if pod else ""
    return said or _TEXTS.next("SourcePodLeft", "failed" if failed else "")


def _finding(own: VMIContext, found: Departure) -> Finding:
    why, waiting = _who_waits(own)
    facts = dict(found.evidence) | {"madeFor": own.migrations[0].made_for, "waits": waiting}
    return Finding(
        reason=found.reason,
        severity=_WARNING if waiting or _lasts(found) else _INFO,
        subject=found.subject.ref,
        message=found.why.removesuffix(".") + why,
        related=found.related,
        node=own.vmi.node,
        since=found.since[0],
        since_source=found.since[1],
        evidence={name: fact for name, fact in facts.items() if fact not in ("", [], None)},
        next=next_step(found.remedy, found.values),
        commands=found.commands,
        does=found.remedy.does,
        forbids=forbidden_by(found),
    )


_NOWHERE = ("Volume", "Stale", "HostModel")  # what its volumes or its CPU leave of the nodes does not change by itself
_OFTEN = 3  # who has tried so many times waits for it


def _lasts(found: Departure) -> bool:
    """Whether another attempt would end in the same way."""
    failed = found.evidence.get("failed")
    if found.reason == "MigrationFailing":
        return fails_again(found) or (isinstance(failed, int) and failed >= _OFTEN)
    return found.reason == "TargetUnschedulable" and found.evidence.get("cause") in _NOWHERE


def _who_waits(own: VMIContext) -> tuple[str, str]:
    """A sentence for the message, and the same as a fact; both empty where nothing is seen to wait."""
    if own.node.closed:
        key = "cordoned" if own.node.cordoned else f"tainted ({own.node.taints[0]})"
        return f". Its node {own.vmi.node} is {key}", f"node {own.vmi.node} is {key}"
    # What was plugged, or volumes that are moved, are such updates too: for these the guest has no other launcher.
    updated = own.vmi.outdated and own.migrations[0].updates
    return (". A KubeVirt update waits for it", "an update of KubeVirt") if updated else ("", "")


CHECK = Check(
    id="migrations",
    title="Migrations that fail, wait or hang; guests that may run twice",
    reads=(VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND, Pod.KIND, Node.KIND, KubeVirt.KIND),
    scope=Scope("one VMI that was migrated", MIGRATED),
    looks_up=(PART, TARGET),
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachineInstance.KIND, Pod.KIND, Node.KIND, KubeVirt.KIND),
    requires=(VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND),
)
