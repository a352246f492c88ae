"""VMs that share their firmware UUID, which guests and what manages them take for unique.

Licences, inventories, backups and cloud-init know a VM by it, and libvirt refuses to migrate between hosts that
have the same. Up to KubeVirt 1.5 it was made of the VM's name alone, and since 1.6 that value is kept; restores,
backups and copied manifests bring a UUID along. A VM is evaluated by the UUID that it runs with, and by the one that
it starts with next. Who moves between clusters or namespaces has the same UUID at both ends while it moves.

Not seen here: VMs of other clusters; whether somebody outside knows a VM by its UUID; stand-alone VMIs
of KubeVirt releases that leave the UUID to libvirt.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...findings import Finding, Severity, Since
from ...model.firmware import group_id
from ...model.identity import next_boot, owned
from ...model.indexes.identities import IDENTITY, LEGACY_NAME
from ...model.indexes.networks import VM
from ...model.kinds import (
    kube_virt,
    virtual_machine,
    virtual_machine_instance,
    virtual_machine_instance_migration,
    virtual_machine_snapshot_content,
)
from ...model.kinds.virtual_machine import VirtualMachine
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ..base import Check, Scope, View
from .evidence import NAMED, facts, message
from .keeper import Proposal, keeper
from .members import Group, Standing, group_of
from .origin import legacy_derived
from .reasons import REASONS

__all__ = ["CHECK"]

_REASON = {
    Standing.RUNS_TOGETHER: ("Duplicate", Severity.CRITICAL),
    Standing.MAY_COLLIDE: ("LatentDuplicate", Severity.WARNING),
    Standing.ENDS: ("DuplicateEnding", Severity.INFO),
}


def find(view: View) -> Iterator[Finding]:
    records = tuple(view.sharing(IDENTITY, view.partition))
    if not records:
        return
    group = group_of(view, records, partial(_silent, view))
    yield from _shared(view, group)
    yield from legacy_derived(view, group)


def _silent(view: View, vm: VirtualMachine) -> VirtualMachineInstance | None:
    """The VM's VMI, where it tells no UUID and so has the one of the VM's start."""
    vmi = owned(view.named(VirtualMachineInstance, vm.namespace, vm.name), vm)
    return vmi if vmi is not None and not vmi.identity and next_boot(vm) == view.partition else None


def _shared(view: View, group: Group) -> Iterator[Finding]:
    proposal = keeper(group.live, view.partition) if len(group.live) > 1 else Proposal(None, "")
    for member in group.members:
        standing = group.standing(member)
        if standing is None:
            continue
        reason, severity = _REASON[standing]
        since = group.collided(member) if standing is Standing.RUNS_TOGETHER else None
        others = group.others(member, NAMED)
        yield Finding(
            reason=reason,
            severity=severity,
            subject=member.ref,
            related=tuple(each.ref for each in others),
            group=group_id(view.partition),
            since=since,
            since_source=Since.CREATION if since is not None else Since.FIRST_SEEN,
            message=message(group, member, standing, proposal),
            evidence=facts(view, group, member, proposal),
        )


CHECK = Check(
    id="firmware_duplicates",
    title="VMs that share their firmware UUID",
    reads=(
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        virtual_machine_instance_migration.KIND,
        virtual_machine_snapshot_content.KIND,
        kube_virt.KIND,
    ),
    scope=Scope("one identity", IDENTITY, extra_keys=(LEGACY_NAME,)),
    joins=(VM,),
    reasons=REASONS,
    find=find,
    about=(virtual_machine.KIND, virtual_machine_instance.KIND),
)
