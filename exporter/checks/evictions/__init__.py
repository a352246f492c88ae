"""VMIs that should leave their node, and can't; nodes whose drain does not get on.

KubeVirt's webhook refuses to evict a launcher pod and marks the VMI instead (`status.evacuationNodeName`).
KubeVirt then migrates it, or leaves that to whoever manages it (strategy External). Each step can get stuck without a
word: a drain only repeats its request.

A VMI has one reason at a time, the most specific one. The order: StuckTerminating; StaleEvacuationRequest; of a request
for its own node ExternalAwaiting, RequestWithUnmanagedStrategy, NotMigratableAfterRequest, MigrationFailing,
TargetUnschedulable, MigrationPending, RequestOnSchedulableNode or RequestByWorkloadUpdate, MigrationQueued, NotStarted;
without a request NotMigratable, UserPDB, MultiplePDB, LegacyTaintIgnored, WillShutDown. Two stand beside another one:
ExternalNoHandler, and MigrationOverdue once an hour has passed in the queue. What migrates and makes progress has none.

A node counts as drained where it is cordoned and something else says so: a VMI marked to leave it, a
NodeMaintenance, no other pod left; or by a taint of a drain. What evidence calls `next` is the next step.

Not seen here: KubeVirt before 1.5, whose webhook lets a second request pass; who asked for an eviction; evictions that
were refused and left no trace; nodes that a volume can be had on.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding, Since
from ...model.indexes.nodes import HANDLER, NODE, PDB, REQUESTED, RUNNING
from ...model.kinds import (
    kube_virt,
    kubevirt_machine,
    node,
    node_maintenance,
    pod,
    pod_disruption_budget,
    virtual_machine_instance,
    virtual_machine_instance_migration,
)
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.record import Ref
from ..base import Check, Scope, View
from . import requested, unrequested
from .guest import Guest
from .pods import orphans
from .reasons import REASONS
from .residual import residual, standing
from .site import site_of

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding]:
    site = site_of(view)
    yield from orphans(site)
    if not site.closed:
        # Most nodes are so: nothing but a mark can be in the way of an eviction that nobody is seen to ask for.
        for vmi in site.vmis:
            if vmi.evacuation and vmi.deleting is None:
                yield from requested.evaluated(Guest(site, vmi))
        return
    standings: dict[Ref, str] = {}
    for vmi in site.vmis:
        guest = Guest(site, vmi)
        found = list(_evaluated(guest))
        yield from found
        standings[vmi.ref] = standing(guest, [finding.reason for finding in found])
    if site.draining:
        yield from residual(site, standings)


def _evaluated(guest: Guest) -> Iterator[Finding]:
    if guest.vmi.deleting is not None:
        yield _terminating(guest.vmi, guest)
    elif guest.requested:
        yield from requested.evaluated(guest)
    else:
        yield from unrequested.evaluated(guest)


def _terminating(vmi: VirtualMachineInstance, guest: Guest) -> Finding:
    ends = (vmi.deleting or 0.0) + vmi.termination
    return guest.finding(
        "StuckTerminating",
        f"it was deleted, its guest had {vmi.termination} seconds to shut down, and it is still there",
        "look at its launcher pod and at virt-handler on the node",
        since=(ends, Since.DELETION),
        pods=[pod.name for pod in guest.pods],
    )


CHECK = Check(
    id="evictions",
    title="VMIs that should leave their node and can't",
    reads=(
        virtual_machine_instance.KIND,
        virtual_machine_instance_migration.KIND,
        pod.KIND,
        node.KIND,
        pod_disruption_budget.KIND,
        kube_virt.KIND,
        node_maintenance.KIND,
        kubevirt_machine.KIND,
    ),
    scope=Scope("one node", NODE),
    joins=(PDB, HANDLER, REQUESTED, RUNNING),
    reasons=REASONS,
    find=find,
    about=(virtual_machine_instance.KIND, virtual_machine_instance_migration.KIND),
)
