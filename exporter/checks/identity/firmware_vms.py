"""VMs whose firmware UUID is not in their spec, is invalid, or will change; and snapshots that would change it.

KubeVirt up to 1.5 derives the UUID from the VM's name at each start; from 1.6 on virt-controller writes that value into
the spec of a VM that has none, within a second, unless something prevents it. A VMI keeps the UUID that it was started
with, whatever is written into the VM's spec meanwhile.

Not seen here: what the guest itself reads; the revision of a VM that an online snapshot was taken from.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.acts import Act
from ...domain.identity import POOL, next_boot, owned
from ...facts.firmware import Invalid, comparable, group_id, invalid, legacy
from ...facts.naming import kind_word
from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.snapshots import VirtualMachineSnapshotContent
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .firmware_duplicates.members import commands_about

__all__ = ["CHECK"]

_REASONS, _TEXTS = reasons_of("firmware_vms"), Texts("firmware_vms")

# A VM without a firmware UUID in its spec, and what prevents KubeVirt from writing it.

_WRITES_SINCE = (1, 6)
_REFUSED = "FirmwareUUIDError"  # the condition that reports a refused write
_DISKS = "DataVolumesNotReady"


def not_persisted(view: View, vm: VirtualMachine) -> Finding | None:
    if vm.uuid.strip() or vm.deleting is not None:
        return None
    release = min((each.release for each in view.all(KubeVirt)), default=(0, 0))
    cause = _cause(vm)
    severity, variant = _evaluated(cause, release)
    facts = {
        "uuid": legacy(vm.name),
        "cause": cause,
        "kubeVirt": ".".join(map(str, release)) if any(release) else "unknown",
    }
    return Finding(
        reason="NotPersisted",
        severity=severity,
        subject=vm.ref,
        message=_TEXTS.message("NotPersisted", variant, cause=cause),
        next=_TEXTS.next("NotPersisted", _STEPS[variant]) if variant in _STEPS else "",
        evidence={name: fact for name, fact in facts.items() if fact},
    )


_STEPS = {"unknown": "older", "older": "older", "disks": "disks"}  # by the variants of the message


def _evaluated(cause: str, release: tuple[int, int]) -> tuple[Severity, str]:
    """Severity, and which variant of the message says it."""
    if not any(release):
        return Severity.INFO, "unknown"
    if release < _WRITES_SINCE:
        return Severity.INFO, "older"
    if cause == _DISKS:
        return Severity.INFO, "disks"
    return Severity.WARNING, "cause" if cause else ""


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
        message=_TEXTS.message("SpecRunMismatch", _CHANGES[vm.reboots_anew, bool(loses)]),
        next=_TEXTS.next("SpecRunMismatch", "tpm") if loses else "",
        does=() if loses else None,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


# By whether a reboot of the guest is a start, and whether the VM has a persistent TPM.
_CHANGES = {(False, False): "", (False, True): "tpm", (True, False): "reboot", (True, True): "reboot_tpm"}
_INVALID = {Invalid.MALFORMED: "malformed", Invalid.PLACEHOLDER: "placeholder"}


def invalid_uuid(
    one: VirtualMachine | VirtualMachineInstance, own: VirtualMachineInstance | None = None
) -> Finding | None:
    """`own` is the VM's own VMI that has not ended."""
    cause = invalid(one.uuid)
    if cause is None or one.deleting is not None:
        return None
    lone = isinstance(one, VirtualMachineInstance)
    seals = "persistent TPM" in (one.sealed, own.sealed if own is not None else "")
    step = "alone" if lone else "" if seals else "stopped" if own is None else "running"
    return Finding(
        reason="InvalidUUID",
        severity=Severity.WARNING,
        subject=one.ref,
        group=group_id(comparable(one.uuid)),
        message=_TEXTS.message("InvalidUUID", _INVALID[cause], kind=kind_word(one.ref.kind)),
        next=_TEXTS.next("InvalidUUID", step),
        does=(Act.END,) if lone else (Act.STOP,) if step == "running" else (),
        commands=commands_about(one.ref, _REASONS["InvalidUUID"], changes=step == "running"),
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
        message=_TEXTS.message("MemberPinsUUID", pool=pool.ref),
        evidence={"uuid": vm.uuid, "pool": pool.name},
    )


# What a restore of a snapshot would do to the VM's UUID.


def snapshot_differs(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None) -> Finding | None:
    """`vm` is the VM that has the name of the one that was saved, where there is one."""
    if content.deleting is not None:
        return None
    if not content.uuid.strip():
        had = "gone" if vm is None else "same" if next_boot(vm) == legacy(content.source) else "other"
        return _finding(content, vm, "SnapshotLacksUUID", had)
    if vm is None or vm.deleting is not None or comparable(content.uuid) == (next_boot(vm) or comparable(vm.uuid)):
        return None
    return _finding(content, vm, "SnapshotUUIDDiffersFromVM", "")


def _called(content: VirtualMachineSnapshotContent) -> str:
    return f"VirtualMachineSnapshot {content.snapshot}" if content.snapshot else "The snapshot's content"


def _finding(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None, reason: str, variant: str) -> Finding:
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
        message=_TEXTS.message(reason, variant, snapshot=_called(content), source=content.source),
        next=_TEXTS.next(reason, variant) if variant in ("other", "gone") else "",
        since=taken,
        since_source=Since.CREATION if taken is not None else Since.FIRST_SEEN,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


def find(view: View) -> Iterator[Finding | None]:
    vm = next(iter(view.all(VirtualMachine)), None)
    vmi = next(iter(view.all(VirtualMachineInstance)), None)
    if vm is not None:
        own = owned(vmi, vm)
        found = (not_persisted(view, vm), spec_run_mismatch(vm, own), invalid_uuid(vm, own), member_pins_uuid(view, vm))
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
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, KubeVirt.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
