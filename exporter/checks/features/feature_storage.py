"""VMs that keep the state of a TPM or of EFI variables, where there is no StorageClass for the volume of it.

KubeVirt makes that volume before the launcher pod, of the StorageClass in vmStateStorageClass, or else of the default
one for VMs or for all (pkg/storage/backend-storage of kubevirt/kubevirt). The volume of a VM that has started once is
there already, and stays where it is.

Not seen here: whether the StorageClass can provision the volume, and with what access mode; changed block tracking,
which keeps its state in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.features.indexes import STATE
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import reasons_of
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import INSTANCETYPES
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.storage import StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .feature_mismatch.evaluation import mismatches


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
    reasons=reasons_of("feature_storage"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(VirtualMachine.KIND,),
)
