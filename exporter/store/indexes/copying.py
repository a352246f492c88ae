"""What a restore or a clone that has not run yet copies."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.virtual_machine_clone import VirtualMachineClone
from ..kinds.virtual_machine_restore import VirtualMachineRestore
from ..kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from ..record import Record


def _copying(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineRestore):
        of = f"snapshot {record.snapshot}" if record.active and record.snapshot else ""
    elif isinstance(record, VirtualMachineClone):
        of = (f"snapshot {record.saved}" if record.saved else f"vm {record.source}") if record.active else ""
    else:
        saved = record.snapshot if isinstance(record, VirtualMachineSnapshotContent) else ""
        of = f"snapshot {saved}" if saved else ""
    return (f"{record.namespace}/{of}",) if of else ()


def _under_way(record: Record, lookup: ByName) -> Iterable[str]:
    return _copying(record, lookup) if isinstance(record, VirtualMachineRestore | VirtualMachineClone) else ()


# Restores and clones in progress by what they are made from, with the content of the snapshot that this is.
COPYING = Index(
    "what is copied",
    _copying,
    of=(VirtualMachineRestore, VirtualMachineClone, VirtualMachineSnapshotContent),
    namespaced=True,
)
UNDER_WAY = Index("what is being copied", _under_way, of=(VirtualMachineRestore, VirtualMachineClone), namespaced=True)
