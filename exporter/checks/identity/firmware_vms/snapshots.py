"""What a restore of a snapshot would do to the VM's UUID."""

from __future__ import annotations

from ....domain.identity.firmware import comparable, legacy
from ....domain.identity.identity import next_boot
from ....findings.finding import Finding, Severity, Since
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent


def snapshot_differs(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None) -> Finding | None:
    """`vm` is the VM that has the name of the one that was saved, where there is one."""
    if content.deleting is not None:
        return None
    if not content.uuid.strip():
        return _finding(content, vm, "SnapshotLacksUUID", _lacks(content, vm))
    if vm is None or vm.deleting is not None or comparable(content.uuid) == (next_boot(vm) or comparable(vm.uuid)):
        return None
    message = f"{_called(content)} brings back a UUID that VM {content.source} no longer has"
    return _finding(content, vm, "SnapshotUUIDDiffersFromVM", message)


def _lacks(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None) -> str:
    derived = f"{_called(content)} has no UUID: a restore has KubeVirt, up to 1.9, derive one from {content.source}"
    if vm is None:
        return f"{derived}, which need not be the one that the VM had"
    if next_boot(vm) == legacy(content.source):
        return f"{derived}, which is the one that the VM has"
    return f"{derived}, and the VM has another one"


def _called(content: VirtualMachineSnapshotContent) -> str:
    return f"VirtualMachineSnapshot {content.snapshot}" if content.snapshot else "The snapshot's content"


def _finding(content: VirtualMachineSnapshotContent, vm: VirtualMachine | None, reason: str, message: str) -> Finding:
    taken = content.created if reason == "SnapshotLacksUUID" else None  # when it began to differ is not known
    facts = {
        "snapshot": content.snapshot,
        "source": content.source,
        "snapshotUUID": content.uuid or legacy(content.source),
        "specUUID": (vm.uuid or legacy(vm.name)) if vm else "",
    }
    return Finding(
        reason=reason,
        severity=Severity.INFO,
        subject=content.ref,
        related=(vm.ref,) if vm else (),
        message=message,
        since=taken,
        since_source=Since.CREATION if taken is not None else Since.FIRST_SEEN,
        evidence={name: fact for name, fact in facts.items() if fact},
    )
