"""VMs whose firmware UUID is not in their spec, is invalid, or will change; and snapshots that would change it.

KubeVirt up to 1.5 derives the UUID from the VM's name at each start; from 1.6 on virt-controller writes that value into
the spec of a VM that has none, within a second, unless something prevents it. A VMI keeps the UUID that it was started
with, whatever is written into the VM's spec meanwhile.

Not seen here: what the guest itself reads; the revision of a VM that an online snapshot was taken from.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.identity.identity import next_boot, owned
from ...domain.identity.indexes import POOL
from ...facts.firmware import Invalid, comparable, group_id, invalid, legacy
from ...facts.naming import the
from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.snapshots import VirtualMachineSnapshotContent
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .firmware_duplicates.members import of_vmi

__all__ = ["CHECK"]

# A VM without a firmware UUID in its spec, and what prevents KubeVirt from writing it.

_WRITES_SINCE = (1, 6)
_REFUSED = "FirmwareUUIDError"  # the condition that reports a refused write
_DISKS = "DataVolumesNotReady"


def not_persisted(view: View, vm: VirtualMachine) -> Finding | None:
    if vm.uuid.strip() or vm.deleting is not None:
        return None
    release = min((each.release for each in view.all(KubeVirt)), default=(0, 0))
    severity, cause, message, following = _evaluated(vm, release)
    facts = {
        "uuid": legacy(vm.name),
        "cause": cause,
        "kubeVirt": ".".join(map(str, release)) if any(release) else "unknown",
    }
    return Finding(
        reason="NotPersisted",
        severity=severity,
        subject=vm.ref,
        message=message,
        next=following,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


def _evaluated(vm: VirtualMachine, release: tuple[int, int]) -> tuple[Severity, str, str, str]:
    """Severity, cause, message and, where it is not that of the reason, the next step."""
    cause = _cause(vm)
    derived = "The VM's spec has no firmware UUID: KubeVirt derives one from its name at each start"
    write = "Write the UUID in use into the spec, at the latest before an upgrade of KubeVirt."
    if not any(release):
        return Severity.INFO, cause, f"{derived}; KubeVirt's release is not known", write
    if release < _WRITES_SINCE:
        return Severity.INFO, cause, derived, write
    if cause == _DISKS:
        wait = "Nothing to do: KubeVirt writes the UUID once the DataVolumes are ready."
        return Severity.INFO, cause, "The VM's spec gets its firmware UUID once its DataVolumes are ready", wait
    why = f" ({cause})" if cause else ""
    return Severity.WARNING, cause, f"KubeVirt does not write the VM's firmware UUID into its spec{why}", ""


def _cause(vm: VirtualMachine) -> str:
    """What prevents virt-controller from writing it, as far as the VM's status says."""
    if vm.failure == _REFUSED:
        return vm.failure
    return _DISKS if vm.waits_for_disks and vm.run_strategy != "Halted" else vm.failure


# A VM's UUID by itself, against that of its VMI, and against that of its pool.


def spec_run_mismatch(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> Finding | None:
    """`vmi` is the VM's own that has not ended. While it is being stopped nothing has to be done any more."""
    if vmi is None or vmi.deleting is not None or vm.deleting is not None:
        return None
    spec, running = next_boot(vm), vmi.identity
    if not spec or not running or spec == running:
        return None
    applies = "on the next guest reboot" if vm.reboots_anew else "with the next start"
    loses = "persistent TPM" if "persistent TPM" in (vm.sealed, vmi.sealed) else ""
    what = "the next guest reboot changes its identity" if vm.reboots_anew else "the next start changes its identity"
    facts = {
        "specUUID": vm.uuid or legacy(vm.name),
        "runningUUID": vmi.uuid,
        "specGroup": group_id(spec),
        "runningGroup": group_id(running),
        "specSerial": vm.serial if vm.serial != vmi.serial else "",
        "runningSerial": vmi.serial if vm.serial != vmi.serial else "",
        "changeApplies": applies,
        "changeLoses": loses,
    }
    return Finding(
        reason="SpecRunMismatch",
        severity=Severity.WARNING,
        subject=vm.ref,
        related=(vmi.ref,),
        message=f"The VM runs with another firmware UUID than its spec has: {what}"
        + (", and empties its persistent TPM" if loses else ""),
        next="Put the running UUID back before the VM restarts: its persistent TPM is kept under it." if loses else "",
        does=() if loses else None,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


_INVALID = {
    Invalid.MALFORMED: "firmware UUID is not a valid UUID",
    Invalid.PLACEHOLDER: "firmware UUID is a placeholder, which other VMs may have too",
}


_LONE = "Delete the VMI and create it again without a UUID."


def invalid_uuid(one: VirtualMachine | VirtualMachineInstance) -> Finding | None:
    cause = invalid(one.uuid)
    if cause is None or one.deleting is not None:
        return None
    lone = isinstance(one, VirtualMachineInstance)
    return Finding(
        reason="InvalidUUID",
        severity=Severity.WARNING,
        subject=one.ref,
        group=group_id(comparable(one.uuid)),
        message=f"{the(one.ref.kind)}'s {_INVALID[cause]}",
        next=_LONE if lone else "",
        does=None if lone else (),
        commands=of_vmi(one.ref),
        evidence={"uuid": one.uuid, "cause": cause.value},
    )


def member_pins_uuid(view: View, vm: VirtualMachine) -> Finding | None:
    pool = view.named(VirtualMachinePool, vm.namespace, vm.pool) if vm.pool else None
    if pool is None or not pool.uuid.strip() or comparable(pool.uuid) != comparable(vm.uuid):
        return None
    return Finding(
        reason="MemberPinsUUID",
        severity=Severity.INFO,
        subject=vm.ref,
        related=(pool.ref,),
        group=group_id(comparable(vm.uuid)),
        since=vm.created,
        since_source=Since.CREATION if vm.created is not None else Since.FIRST_SEEN,
        message=f"The VM has its firmware UUID from the template of {pool.ref}, like all others of it",
        evidence={"uuid": vm.uuid, "pool": pool.name},
    )


# What a restore of a snapshot would do to the VM's UUID.


def snapshot_differs(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None) -> Finding | None:
    """`vm` is the VM that has the name of the one that was saved, where there is one."""
    if content.deleting is not None:
        return None
    if not content.uuid.strip():
        return _finding(content, vm, "SnapshotLacksUUID", _lacks(content, vm))
    if vm is None or vm.deleting is not None or comparable(content.uuid) == (next_boot(vm) or comparable(vm.uuid)):
        return None
    message = f"{_called(content)} brings back a UUID that VM {content.source} no longer has"
    return _finding(content, vm, "SnapshotUUIDDiffersFromVM", message)


def _lacks(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None) -> str:
    derived = f"{_called(content)} has no UUID: a restore has KubeVirt, up to 1.9, derive one from {content.source}"
    if vm is None:
        return f"{derived}, which need not be the one that the VM had"
    if next_boot(vm) == legacy(content.source):
        return f"{derived}, which is the one that the VM has"
    return f"{derived}, and the VM has another one"


def _called(content: VirtualMachineSnapshotContent) -> str:
    return f"VirtualMachineSnapshot {content.snapshot}" if content.snapshot else "The snapshot's content"


def _finding(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None, reason: str, message: str) -> Finding:
    taken = content.created if reason == "SnapshotLacksUUID" else None  # when it began to differ is not known
    facts = {
        "snapshot": content.snapshot,
        "source": content.source,
        "snapshotUUID": content.uuid or legacy(content.source),
        "specUUID": (vm.uuid or legacy(vm.name)) if vm else "",
    }
    return Finding(
        reason=reason,
        severity=Severity.INFO,
        subject=content.ref,
        related=(vm.ref,) if vm else (),
        message=message,
        since=taken,
        since_source=Since.CREATION if taken is not None else Since.FIRST_SEEN,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


def find(view: View) -> Iterator[Finding | None]:
    vm = next(iter(view.all(VirtualMachine)), None)
    vmi = next(iter(view.all(VirtualMachineInstance)), None)
    if vm is not None:
        own = owned(vmi, vm)
        found = (not_persisted(view, vm), spec_run_mismatch(vm, own), invalid_uuid(vm), member_pins_uuid(view, vm))
        yield from filter(None, found)
    elif vmi is not None and not vmi.final:
        yield from filter(None, (invalid_uuid(vmi),))
    for content in view.all(VirtualMachineSnapshotContent):
        yield snapshot_differs(content, vm)


CHECK = Check(
    id="firmware_vms",
    title="VMs whose firmware identity is not kept",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachinePool.KIND,
        VirtualMachineSnapshotContent.KIND,
        KubeVirt.KIND,
    ),
    scope=PER_VM,
    looks_up=(POOL,),
    reasons=reasons_of("firmware_vms"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, KubeVirt.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
