"""VMs that share a firmware UUID, which guests and what manages them take for unique.

Licences, inventories, backups and cloud-init identify a VM by it, and libvirt refuses to migrate between hosts that
have the same. Up to KubeVirt 1.5 it was derived from the VM's name alone, and from 1.6 on that value is kept; restores,
backups and copied manifests bring a UUID along. A VM is evaluated by the UUID that it runs with, and by the one that
it starts with next. A VM that migrates between namespaces has the same UUID at both ends meanwhile.

That a UUID is derived from a name is said of one that the VM's spec has: of a VM whose spec has none firmware_vms says
so, and what to do.

Not seen here: VMs of other clusters (firmware_across_clusters); whether anything outside identifies a VM by its UUID;
stand-alone VMIs without a UUID, for which libvirt makes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....domain.acts import Act, Forbids
from ....domain.identity import IDENTITY, LEGACY_NAME, next_boot, owned
from ....facts.firmware import group_id
from ....facts.naming import NAMED
from ....findings.causes import Cause
from ....findings.check import Check, Scope, View
from ....findings.finding import Finding, Since
from ....findings.pages import reasons_of
from ....findings.partial import known
from ....findings.severity import Severity
from ....store.indexes.networks import VM
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.snapshots import VirtualMachineSnapshotContent
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from .evidence import KeeperChoice, acts, facts, keeper, legacy_derived, message, next_step, to_be_changed
from .members import Member, MemberRole, SharedValue, commands_about, group_of

__all__ = ["CHECK"]

_REASON = {
    MemberRole.RUNS_TOGETHER: ("Duplicate", Severity.CRITICAL),
    MemberRole.MAY_COLLIDE: ("LatentDuplicate", Severity.WARNING),
    MemberRole.ENDS: ("DuplicateEnding", Severity.INFO),
}


_NO_START = Forbids((Act.START,), "it was migrated away, and shares its firmware UUID with another VM")


def find(view: View) -> Iterator[Finding | None]:
    records, whole = known(view.sharing(IDENTITY, view.partition))
    if not records:
        return
    group = yield from group_of(view, records, partial(_silent, view), whole=whole)
    if len(group.members) > 1:
        yield from _shared(view, group)
    if group.whole:
        yield from legacy_derived(view, group)


def _silent(view: View, vm: VirtualMachine) -> VirtualMachineInstance | None:
    """The VM's VMI, where it reports no UUID and so runs with the one that the VM starts with."""
    vmi = owned(view.named(VirtualMachineInstance, vm.namespace, vm.name), vm)
    return vmi if vmi is not None and not vmi.identity and next_boot(vm) == view.partition else None


def _shared(view: View, group: SharedValue) -> Iterator[Finding | None]:
    proposal = KeeperChoice(None, "")
    if len(group.live) > 1:
        proposal = yield from keeper(group.live, view.partition)
    for member in group.members:
        standing = group.standing(member)
        if standing is None or not (group.whole or member.key in group.certain):
            continue
        reason, severity = _REASON[standing]
        since = group.collided(member) if standing is MemberRole.RUNS_TOGETHER else None
        others = group.others(member, NAMED)
        yield Finding(
            reason=reason,
            severity=severity,
            subject=member.ref,
            related=tuple(each.ref for each in others),
            group=group_id(view.partition),
            since=since,
            since_source=Since.CREATION if since is not None else Since.FIRST_SEEN,
            message=message(group, member, reason),
            next=next_step(group, member, reason, proposal),
            does=acts(member, standing, proposal),
            forbids=_NO_START if standing is MemberRole.ENDS and member in group.kept else None,
            commands=() if standing is MemberRole.ENDS else _commands(group, member, reason, proposal),
            evidence=facts(view, group, member, proposal),
        )


def _commands(group: SharedValue, member: Member, reason: str, proposal: KeeperChoice) -> tuple[str, ...]:
    """Those about the member that is to be changed."""
    changed = to_be_changed(group, member, proposal)
    return commands_about(changed.ref, _REASONS[reason], changes=changed is member and member.runs)


_REASONS = reasons_of("firmware_duplicates")

CHECK = Check(
    id="firmware_duplicates",
    title="VMs that share a firmware UUID",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachineInstanceMigration.KIND,
        VirtualMachineSnapshotContent.KIND,
        KubeVirt.KIND,
    ),
    scope=Scope("one identity", IDENTITY, extra_keys=(LEGACY_NAME,)),
    looks_up=(VM,),
    cause=Cause.GROUP,
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, KubeVirt.KIND),
    requires=(VirtualMachineInstance.KIND,),
)
