"""What can be wrong with the firmware identity of one VM."""

from __future__ import annotations

from ...findings import Severity
from ..base import Family, Reason

__all__ = ["REASONS"]

_IDENTITY = Family(
    "kubevirt_vm_firmware_uuid_unstable",
    "A VM's firmware UUID is no UUID, or changes with its next start.",
)
# Families of their own for what may be said of all VMs at once: it must not crowd out the others.
_NOT_KEPT = Family(
    "kubevirt_vm_firmware_uuid_not_persisted",
    "A VM's firmware UUID is not in its spec.",
    aged=False,
)
_PINNED = Family(
    "kubevirt_vm_firmware_uuid_from_template",
    "A VM has its firmware UUID from the template of its pool.",
    aged=False,
)
_SNAPSHOT = Family(
    "kubevirt_vmsnapshot_firmware_uuid_differs",
    "Restoring a snapshot gives the VM another firmware UUID, or none of its own.",
)

REASONS = {
    "NotPersisted": Reason(
        (Severity.INFO, Severity.WARNING),
        "The VM's spec has no firmware UUID, and KubeVirt makes one of its name at each start; a warning where "
        "KubeVirt, from 1.6 on, should have written it into the spec.",
        _NOT_KEPT,
        "A.3",
        600.0,
    ),
    "SpecRunMismatch": Reason(
        (Severity.WARNING,),
        "The VM runs with another firmware UUID than its spec has: the next start changes its identity.",
        _IDENTITY,
        "A.11",
    ),
    "InvalidUUID": Reason(
        (Severity.WARNING,),
        "The firmware UUID is no UUID, or one that vendors leave in place of one.",
        _IDENTITY,
        "A.8",
    ),
    "MemberPinsUUID": Reason(
        (Severity.INFO,),
        "The VM has its firmware UUID from the template of its pool, as all others of it.",
        _PINNED,
        "A.9",
    ),
    "SnapshotLacksUUID": Reason(
        (Severity.INFO,),
        "A snapshot was taken without a firmware UUID: a restore makes one of the VM's name, up to KubeVirt 1.9.",
        _SNAPSHOT,
        "A.10",
    ),
    "SnapshotUUIDDiffersFromVM": Reason(
        (Severity.INFO,),
        "A snapshot has another firmware UUID than its VM: a restore brings that one back.",
        _SNAPSHOT,
        "A.10",
    ),
}
