"""Snapshots and restores of VMs that make no progress.

KubeVirt tries without an end, and says why nothing happens in the reason of the condition Progressing. A snapshot is to
fail at its deadline (spec.failureDeadline, five minutes by default); what keeps KubeVirt from writing its status keeps
it from failing too (kubevirt/kubevirt#8435, #16324). A restore has no deadline but that for its VM to be stopped. While
one is in progress the status of the VM names it, and KubeVirt's webhooks refuse what would change the VM under it:
volumes and run strategy during a snapshot, a start during a restore.

Not reported: a snapshot or restore that failed, which says so itself, and one that is being deleted.

Not seen here: snapshots whose failureDeadline is 0, unless their VM is not there; a VM that stays locked by a snapshot
or restore that is gone; VolumeSnapshots, on which a snapshot waits while it counts as progressing.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...domain.acts import NOTHING_FORBIDDEN, Act, Forbids
from ...domain.identity import RESTORED_FROM, SAVING
from ...findings.advice import filled, values_of
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import vm_key
from ...store.kinds.snapshots import VirtualMachineRestore, VirtualMachineSnapshot
from ...store.kinds.virtual_machine import VirtualMachine

_TEXTS = Texts("vm_snapshots")
_RESTORE = command("show_restore")
_DELETE_RESTORE = "kubectl delete virtualmachinerestores.snapshot.kubevirt.io -n NAMESPACE NAME"
_STOP = "virtctl stop -n NAMESPACE VMNAME"
_INFO, _WARNING = Severity.INFO, Severity.WARNING

_NO_SOURCE = "Source does not exist"  # KubeVirt's words
_NOT_STOPPED = "Waiting for target to be ready"
# The variants of what is said of a restore, by what keeps it: its own commands.
_COMMANDS = {"stop": (_STOP, _RESTORE), "mac": (_DELETE_RESTORE, _RESTORE)}
_ENDS = (Act.STOP, Act.RESTART, Act.END)
_WAITING = "a restore that waits for its stop replaces its disks then"


def find(view: View) -> Iterator[Finding | None]:
    for snapshot in view.members(SAVING, view.partition, VirtualMachineSnapshot):
        if snapshot.active and snapshot.stalled and snapshot.deleting is None:
            yield from view.apart(_of_snapshot(view, snapshot))
    for restore in view.members(SAVING, view.partition, VirtualMachineRestore):
        if restore.active and restore.stalled and restore.deleting is None:
            yield from view.apart(_of_restore(view, restore))


def _of_snapshot(view: View, snapshot: VirtualMachineSnapshot) -> Iterator[Finding]:
    if snapshot.stalled == _NO_SOURCE:
        yield _finding("SnapshotWithoutSource", _INFO, snapshot)
    elif snapshot.deadline is not None:
        locked = _locked(view, snapshot.name)
        severity = _WARNING if locked else _INFO
        yield _finding("SnapshotOverdue", severity, snapshot, "locked" if locked else "", locked=locked)


def _of_restore(view: View, restore: VirtualMachineRestore) -> Iterator[Finding]:
    locked = _locked(view, restore.name)
    why = "stop" if restore.stalled == _NOT_STOPPED else "mac" if _of_mac(restore.stalled) else ""
    variant = "_".join(filter(None, (why, "locked" if locked else "")))
    saved = _saved(view, restore) if why == "mac" else ""
    severity = _WARNING if locked else _INFO
    found = _finding("RestoreStuck", severity, restore, variant, locked=locked, saved=saved)
    if why == "stop":
        acts = (Act.START, *_ENDS) if locked else _ENDS
        found = msgspec.structs.replace(found, forbids=Forbids(acts, _WAITING))
    step = variant if why == "mac" else why
    yield _with(found, _TEXTS.next("RestoreStuck", step, vm=restore.target), _COMMANDS[why]) if why else found


def _of_mac(text: str) -> bool:
    """Whether kubemacpool refuses the VM: the words stand in the answer of its webhook."""
    return "allocate requested mac address" in text.lower()


def _saved(view: View, restore: VirtualMachineRestore) -> str:
    """Its snapshot, and the VM that was saved, which can be another one than is restored."""
    found = view.members(RESTORED_FROM, vm_key(restore.namespace, restore.snapshot), VirtualMachineSnapshot)
    return next((f"{restore.snapshot} of VM {each.source}" for each in found if each.source), restore.snapshot)


def _locked(view: View, name: str) -> bool:
    vms = view.members(SAVING, view.partition, VirtualMachine)
    return any(each.locked_by == name for each in vms)


def _finding(
    reason: str,
    severity: Severity,
    about: VirtualMachineSnapshot | VirtualMachineRestore,
    variant: str = "",
    *,
    locked: bool = False,
    saved: str = "",
) -> Finding:
    vm, snapshot, late = _facts(about)
    since = max(filter(None, (about.stalled_since, late if reason == "SnapshotOverdue" else None)), default=None)
    return Finding(
        reason=reason,
        severity=severity,
        subject=about.ref,
        vm=vm,
        message=_TEXTS.message(reason, variant, vm=vm, saved=saved, said=about.stalled),
        since=since,
        since_source=Since.CONDITION if since is not None else Since.FIRST_SEEN,
        forbids=None if locked else NOTHING_FORBIDDEN,
        evidence={"reported": about.stalled, "snapshot": snapshot},
    )


def _facts(about: VirtualMachineSnapshot | VirtualMachineRestore) -> tuple[str, str, float | None]:
    """Its VM, its snapshot, and when it was to fail."""
    if isinstance(about, VirtualMachineSnapshot):
        return about.source, about.name, about.deadline
    return about.target, about.snapshot, None


def _with(found: Finding, step: str, commands: tuple[str, ...]) -> Finding:
    """With another next step than that of its reason."""
    values = values_of(found)
    return msgspec.structs.replace(found, next=step, commands=tuple(filled(each, values) for each in commands))


CHECK = Check(
    id="vm_snapshots",
    title="Snapshots and restores that make no progress",
    reads=(VirtualMachineSnapshot.KIND, VirtualMachineRestore.KIND, VirtualMachine.KIND),
    scope=Scope("one VM that is saved or restored", SAVING),
    looks_up=(RESTORED_FROM,),
    reasons=reasons_of("vm_snapshots"),
    find=find,
    fields_read=(VirtualMachine.KIND,),
    requires=(VirtualMachineSnapshot.KIND,),
)
