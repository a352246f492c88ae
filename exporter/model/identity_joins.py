"""What machines share by their firmware."""

from __future__ import annotations

from collections.abc import Iterable

from .firmware import legacy, serial_key
from .identity import identities, owned
from .index import Index, Lookup
from .record import Record
from .virtual_machine import VirtualMachine
from .virtual_machine_instance import VirtualMachineInstance
from .virtual_machine_instance_migration import VirtualMachineInstanceMigration

__all__ = ["IDENTITY", "LEGACY_NAME", "PAIRING", "SERIAL"]


def _identities(record: Record, lookup: Lookup) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        vmi = lookup(VirtualMachineInstance, record.namespace, record.name)
        return identities(record, owned(vmi, record) if isinstance(vmi, VirtualMachineInstance) else None)
    if isinstance(record, VirtualMachineInstance) and record.identity and not record.final:
        return (record.identity,)
    return ()


def _names(record: Record, _: Lookup) -> Iterable[str]:
    return (legacy(record.name),) if isinstance(record, VirtualMachine) else ()


def _machines(record: Record, _: Lookup) -> Iterable[str]:
    return (f"{record.namespace}/{record.name}",) if isinstance(record, VirtualMachine) else ()


def _serials(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, VirtualMachine) or (isinstance(record, VirtualMachineInstance) and not record.final):
        key = serial_key(record.serial)
        return (key,) if key else ()
    return ()


def _pairings(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstanceMigration) and record.pairing and not record.finished:
        return (record.pairing,)
    return ()


# What a machine is depends on its instance: it is found here by the instance's `namespace/name`.
_INSTANCE = Index("machine of an instance", _machines)
# Comparable UUIDs that machines have, or start with next time.
IDENTITY = Index("firmware UUID", _identities, through=(VirtualMachineInstance, _INSTANCE))
# The UUID that KubeVirt makes of a machine's name, whichever it has.
LEGACY_NAME = Index("UUID of a name", _names)
SERIAL = Index("serial", _serials)
# The two ends of an unfinished migration between namespaces or clusters.
PAIRING = Index("migration pair", _pairings)
