"""How a VM may share its firmware UUID with others, and what to do about it."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....facts.record import Ref
from ....findings.advice import filled
from ....findings.check import Family, Reason
from ....findings.severity import Severity

_OF_VMI = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE NAME -o yaml"
_ALERT = "VMFirmwareUUIDDuplicate"
_CHANGE = "Decide which VM keeps the UUID, and give each of the others a new one while it is stopped."
_VM = "kubectl get virtualmachines.kubevirt.io -n NAMESPACE NAME"
_TPM = (_VM + " -o jsonpath='{.spec.template.spec.domain.devices.tpm}'", _VM + " -o yaml")

_DUPLICATE = Family("kubevirt_vm_firmware_uuid_duplicate", "A VM shares its firmware UUID with another one.")
# A family of its own: where all VMs are older than KubeVirt 1.6 this is said of each of them.
_LEGACY = Family(
    "kubevirt_vm_firmware_uuid_legacy",
    "A VM's firmware UUID is derived from a name, and the same wherever that name is used.",
    aged=False,
)

REASONS = {
    "Duplicate": Reason(
        (Severity.CRITICAL,),
        "The VM runs, and another one runs with the same firmware UUID.",
        _DUPLICATE,
        next=_CHANGE,
        commands=_TPM,
        alert=_ALERT,
        remediation="reassign_firmware_uuid",
        does=(Act.STOP, Act.END),
    ),
    "LatentDuplicate": Reason(
        (Severity.WARNING,),
        "Another VM has the same firmware UUID, or starts with it: they collide once both run.",
        _DUPLICATE,
        next=_CHANGE,
        commands=_TPM,
        alert=_ALERT,
        remediation="reassign_firmware_uuid",
        does=(Act.STOP, Act.END),
        forbids=Forbids((Act.START,), "it shares its firmware UUID with another VM"),
    ),
    "DuplicateEnding": Reason(
        (Severity.INFO,),
        "The VM shares its firmware UUID only with what is being deleted or was migrated away, or is that itself.",
        _DUPLICATE,
        next="Nothing to do: it ends with the one that is being deleted or was migrated away.",
    ),
    "LegacyDerived": Reason(
        (Severity.INFO,),
        "The firmware UUID is derived from a VM's name, and the same wherever that name is used.",
        _LEGACY,
        next="Nothing to do here; give the next VM of this name a UUID of its own before it first starts.",
    ),
}


def of_vmi(subject: Ref) -> tuple[str, ...]:
    """The commands for a VMI without a VM; none for a VM, for which the reason has some."""
    values = {"NAMESPACE": subject.namespace, "NAME": subject.name}
    return (filled(_OF_VMI, values),) if subject.kind == "VirtualMachineInstance" else ()
