"""VMs whose firmware UUID is not in their spec, is invalid, or will change; and snapshots that would change it.

KubeVirt up to 1.5 derives the UUID from the VM's name at each start; from 1.6 on virt-controller writes that value into
the spec of a VM that has none, within a second, unless something prevents it. A VMI keeps the UUID that it was started
with, whatever is written into the VM's spec meanwhile.

Not seen here: what the guest itself reads; the revision of a VM that an online snapshot was taken from.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....domain.identity.identity import owned
from ....findings.check import Check, View
from ....findings.finding import Finding
from ....findings.scopes import PER_VM
from ....store.indexes.identities import POOL
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_pool import VirtualMachinePool
from ....store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from .persisting import not_persisted
from .predicates import invalid_uuid, member_pins_uuid, spec_run_mismatch
from .reasons import REASONS
from .snapshots import snapshot_differs

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding | None]:
    vm = next(iter(view.all(VirtualMachine)), None)
    vmi = next(iter(view.all(VirtualMachineInstance)), None)
    if vm is not None:
        own = owned(vmi, vm)
        found = (not_persisted(view, vm), spec_run_mismatch(vm, own), invalid_uuid(vm), member_pins_uuid(view, vm))
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
    reasons=REASONS,
    find=find,
    fields_read={
        VirtualMachine.KIND: (
            (
                "created",
                "deleting",
                "failure",
                "identity",
                "pool",
                "reboots_anew",
                "run_strategy",
                "sealed",
                "serial",
                "uuid",
                "waits_for_disks",
            )
        ),
        VirtualMachineInstance.KIND: ("deleting", "identity", "phase", "sealed", "serial", "uuid", "vm_uid"),
        KubeVirt.KIND: ("assumed", "counts"),
    },
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
