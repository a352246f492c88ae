"""What VMs share by their firmware."""

from __future__ import annotations

from collections.abc import Iterable

from ...domain.identity.firmware import legacy, serial_key
from ...domain.identity.identity import identities, owned
from ..index import ByName, Index
from ..kinds.virtual_machine import VirtualMachine
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..kinds.virtual_machine_pool import VirtualMachinePool
from ..kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from ..record import Record
from .networks import VM


def _identities(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        vmi = lookup(VirtualMachineInstance, record.namespace, record.name)
        return identities(record, owned(vmi, record) if isinstance(vmi, VirtualMachineInstance) else None)
    if isinstance(record, VirtualMachineInstance) and record.identity and not record.final:
        return (record.identity,)
    return ()


def _saved(record: Record, _: ByName) -> Iterable[str]:
    return (record.identity,) if isinstance(record, VirtualMachineSnapshotContent) and record.identity else ()


def _names(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        return (legacy(record.name),)
    return (legacy(record.source),) if isinstance(record, VirtualMachineSnapshotContent) else ()


def _serials(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine) or (isinstance(record, VirtualMachineInstance) and not record.final):
        key = serial_key(record.serial)
        return (key,) if key else ()
    return ()


def _pools(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        return (f"{record.namespace}/{record.pool}",) if record.pool else ()
    return (f"{record.namespace}/{record.name}",) if isinstance(record, VirtualMachinePool) else ()


# Comparable UUIDs that VMs have, or start with next time.
IDENTITY = Index(
    "firmware UUID", _identities, of=(VirtualMachine, VirtualMachineInstance), through=((VirtualMachineInstance, VM),)
)
# The UUIDs that snapshots would bring back.
SAVED_IDENTITY = Index("firmware UUID in a snapshot", _saved, of=(VirtualMachineSnapshotContent,))
# The UUID that KubeVirt derives from a VM's name, whichever it has; of VMs and of snapshots.
LEGACY_NAME = Index("UUID of a name", _names, of=(VirtualMachine, VirtualMachineSnapshotContent))
SERIAL = Index("serial", _serials, of=(VirtualMachine, VirtualMachineInstance))
# A pool and its VMs, which depend on it.
POOL = Index("pool", _pools, of=(VirtualMachine, VirtualMachinePool), dependents=(VirtualMachine,), namespaced=True)
