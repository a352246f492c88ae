"""A VM without a firmware UUID in its spec, and what prevents KubeVirt from writing it."""

from __future__ import annotations

from ....domain.identity.firmware import legacy
from ....findings.check import View
from ....findings.finding import Finding, Severity
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine

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
