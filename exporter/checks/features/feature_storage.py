"""VMs that keep the state of a TPM or of EFI variables, where there is no StorageClass for the volume of it.

KubeVirt makes that volume before the launcher pod, of the StorageClass in vmStateStorageClass, or else of the default
one for VMs or for all (pkg/storage/backend-storage of kubevirt/kubevirt). The volume of a VM that has started once is
there already, and stays where it is.

Not seen here: whether the StorageClass can provision the volume, and with what access mode; changed block tracking,
which keeps its state in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...domain.features.indexes import STATE
from ...findings.causes import Cause
from ...findings.check import Check, Reason, Scope, View
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import INSTANCETYPES
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.storage import StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ._commands import STORAGE_CLASSES
from .feature_mismatch.evaluation import mismatches
from .feature_mismatch.reasons import REASONS

_WARNING, _INFO, _CRITICAL = Severity.WARNING, Severity.INFO, Severity.CRITICAL
_STATES = {
    "PendingBlocked": _CRITICAL,
    "PendingStartedBefore": _WARNING,
    "StartBlocked": _CRITICAL,
    "StoppedRequestsDisabled": _WARNING,
    "HealsAtRestart": _INFO,
    "WillFailAtRestart": _WARNING,
    "RunningStartedBefore": _INFO,
}


def _reason(name: str, severity: Severity) -> Reason:
    """As that of feature_mismatch, whose alerts fire for it; of what only informs here there is none."""
    as_there = REASONS[name]
    commands = (*as_there.commands, STORAGE_CLASSES)
    alert = "" if severity is _INFO else as_there.alert
    return replace(as_there, severities=(severity,), commands=commands, alert=alert)


def find(view: View) -> Iterator[Finding]:
    yield from mismatches(view, tuple(view.all(StorageClass)))


CHECK = Check(
    id="feature_storage",
    title="VMs whose TPM or EFI state has no StorageClass",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        *INSTANCETYPES,
        ControllerRevision.KIND,
        KubeVirt.KIND,
        StorageClass.KIND,
    ),
    scope=Scope("one VM", STATE),
    cause=Cause.FEATURE,
    reasons={name: _reason(name, severity) for name, severity in _STATES.items()},
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(VirtualMachine.KIND,),
)
