"""Which migrations have moved a VMI off a node."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..record import Record


def _evacuated(record: Record, _: ByName) -> Iterable[str]:
    moved = isinstance(record, VirtualMachineInstanceMigration) and record.phase == "Succeeded" and record.evacuates
    return (moved,) if moved else ()


# Those that succeeded, under the node that they were to empty.
EVACUATED = Index("evacuated node", _evacuated, of=(VirtualMachineInstanceMigration,))
