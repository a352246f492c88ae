"""A VM without a firmware UUID in its spec, and what keeps KubeVirt from writing it (firmware-eviction A.3)."""

from __future__ import annotations

from ...findings import Finding, Severity
from ...model.firmware import legacy
from ...model.kinds.kube_virt import KubeVirt
from ...model.kinds.virtual_machine import VirtualMachine
from ..base import View

__all__ = ["not_persisted"]

_WRITES_SINCE = (1, 6)
_REFUSED = "FirmwareUUIDError"  # the condition that tells that the write was refused
_DISKS = "DataVolumesNotReady"


def not_persisted(view: View, vm: VirtualMachine) -> Finding | None:
    if vm.uuid.strip() or vm.deleting is not None:
        return None
    release = min((each.release for each in view.all(KubeVirt)), default=(0, 0))
    severity, cause, message = _evaluated(vm, release)
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
        evidence={name: fact for name, fact in facts.items() if fact},
    )


def _evaluated(vm: VirtualMachine, release: tuple[int, int]) -> tuple[Severity, str, str]:
    cause = _cause(vm)
    if not any(release):
        words = "KubeVirt makes one of its name at each start; KubeVirt's release is not known"
        return Severity.INFO, cause, f"its spec has no firmware UUID, and {words}"
    if release < _WRITES_SINCE:
        words = "KubeVirt makes one of its name at each start: write that one into it before the name is used again"
        return Severity.INFO, cause, f"its spec has no firmware UUID, and {words}"
    if cause == _DISKS:
        return Severity.INFO, cause, "its spec gets its firmware UUID once its DataVolumes are ready"
    why = f" ({cause})" if cause else ""
    return Severity.WARNING, cause, f"KubeVirt does not write its firmware UUID into its spec{why}: write it there"


def _cause(vm: VirtualMachine) -> str:
    """What keeps the controller from it, as far as the VM's status tells."""
    if vm.failure == _REFUSED:
        return vm.failure
    return _DISKS if vm.waits_for_disks and vm.run_strategy != "Halted" else vm.failure
