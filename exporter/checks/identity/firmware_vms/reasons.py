"""What can be wrong with the firmware identity of one VM, and what to do about it."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.finding import Severity

_ALERT = "VMFirmwareUUIDUnstable"
_VM = "kubectl get virtualmachines.kubevirt.io -n NAMESPACE NAME"
_WRITERS = '{range .metadata.managedFields[*]}{.time} {.manager} {.operation}{"\\n"}{end}'
_IDENTITY = Family(
    "kubevirt_vm_firmware_uuid_unstable", "A VM's firmware UUID is invalid, or changes with the next start."
)
# Families of their own for what may hold for all VMs at once: it must not crowd out the others.
_NOT_KEPT = Family("kubevirt_vm_firmware_uuid_not_persisted", "A VM's firmware UUID is not in its spec.", aged=False)
_PINNED = Family(
    "kubevirt_vm_firmware_uuid_from_template", "A VM has its firmware UUID from the template of its pool.", aged=False
)
_SNAPSHOT = Family(
    "kubevirt_vmsnapshot_firmware_uuid_differs",
    "Restoring a snapshot gives the VM another firmware UUID, or none of its own.",
)

REASONS = {
    "NotPersisted": Reason(
        (Severity.INFO, Severity.WARNING),
        "The VM's spec has no firmware UUID, and KubeVirt derives one from its name at each start; a warning where "
        "KubeVirt, from 1.6 on, should have written it into the spec.",
        _NOT_KEPT,
        grace=600.0,
        next="Find out what prevents KubeVirt from writing the UUID, or write the one in use into the spec.",
        commands=(
            _VM + " -o jsonpath='{.status.printableStatus} {.status.conditions}'",
            _VM + f" --show-managed-fields -o jsonpath='{_WRITERS}'",
        ),
        alert=_ALERT,
        remediation="persist_firmware_uuid",
    ),
    "SpecRunMismatch": Reason(
        (Severity.WARNING,),
        "The VM runs with another firmware UUID than its spec has: the next start changes its identity.",
        _IDENTITY,
        next="If the change is meant, restart the VM when its owner agrees; else put the running UUID back.",
        commands=(
            _VM + " -o jsonpath='{.spec.template.spec.domain.firmware}'",
            "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE NAME -o jsonpath='{.spec.domain.firmware}'",
        ),
        alert=_ALERT,
        remediation="persist_firmware_uuid",
        does=(Act.RESTART,),
        forbids=Forbids((Act.STOP, Act.RESTART, Act.END), "its next start changes its firmware UUID"),
    ),
    "InvalidUUID": Reason(
        (Severity.WARNING,),
        "The firmware UUID is not a valid UUID, or is a placeholder that vendors use.",
        _IDENTITY,
        next="Give the VM a valid UUID of its own, unless it has a persistent TPM that is in use.",
        commands=(_VM + " -o yaml",),
        alert=_ALERT,
        remediation="replace_invalid_uuid",
        does=(Act.END,),
    ),
    "MemberPinsUUID": Reason(
        (Severity.INFO,),
        "The VM has its firmware UUID from the template of its pool, like all others of it.",
        _PINNED,
        next="Remove the UUID from the pool's template, then give each of its VMs one of its own.",
        cause=Cause.GROUP,
    ),
    "SnapshotLacksUUID": Reason(
        (Severity.INFO,),
        "A snapshot has no firmware UUID: after a restore KubeVirt, up to 1.9, derives one from the VM's name.",
        _SNAPSHOT,
        next="After a restore write the VM's UUID into its spec before it starts, or take a new snapshot now.",
    ),
    "SnapshotUUIDDiffersFromVM": Reason(
        (Severity.INFO,),
        "A snapshot has another firmware UUID than its VM: a restore brings that one back.",
        _SNAPSHOT,
        next="After a restore write the VM's present UUID into its spec before it starts, or take a new snapshot now.",
    ),
}
