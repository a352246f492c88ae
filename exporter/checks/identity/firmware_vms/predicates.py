"""A VM's UUID by itself, against that of its VMI, and against that of its pool."""

from __future__ import annotations

from ....domain.identity.firmware import Invalid, comparable, group_id, invalid, legacy
from ....domain.identity.identity import next_boot
from ....findings.check import View
from ....findings.finding import Finding, Severity, Since
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_pool import VirtualMachinePool
from ....store.text.naming import the
from ..firmware_duplicates.reasons import of_vmi


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
