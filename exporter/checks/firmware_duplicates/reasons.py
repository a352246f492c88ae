"""How a VM may share its firmware UUID with others."""

from __future__ import annotations

from ...findings import Severity
from ..base import Family, Reason

__all__ = ["REASONS"]

_DUPLICATE = Family(
    "kubevirt_vm_firmware_uuid_duplicate",
    "A VM shares its firmware UUID with another one.",
)
# A family of its own: where all VMs are older than KubeVirt 1.6 this is said of each of them.
_LEGACY = Family(
    "kubevirt_vm_firmware_uuid_legacy",
    "A VM's firmware UUID is made of a name, and so the same wherever that name is used.",
    aged=False,
)

REASONS = {
    "Duplicate": Reason(
        (Severity.CRITICAL,),
        "The VM runs, and another one runs with the same firmware UUID.",
        _DUPLICATE,
        "A.11",
    ),
    "LatentDuplicate": Reason(
        (Severity.WARNING,),
        "Another VM has the same firmware UUID, or starts with it: they collide once both run.",
        _DUPLICATE,
        "A.11",
    ),
    "DuplicateEnding": Reason(
        (Severity.INFO,),
        "The VM shares its firmware UUID only with what is being deleted or was migrated away, or is that itself.",
        _DUPLICATE,
        "A.11",
    ),
    "LegacyDerived": Reason(
        (Severity.INFO,),
        "The firmware UUID is made of a VM's name, and so the same wherever that name is used.",
        _LEGACY,
        "A.2",
    ),
}
