"""Gives a stopped VM that is a copy a serial of its own, where it has that of the VM that it is a copy of.

Only where the check `firmware_serials` says that the VM is a copy, and which VM keeps the serial. The new serial
follows from the VM's UID and the old serial, so that the plan is the same each time. The UUID stays as it is.

What a VirtualMachineClone or a snapshot's restore made in the namespace of the VM that keeps the serial is a copy.
Where that is not certain (another namespace, a backup of Velero, no annotation of either) only a VM with the annotation
`steward.kubevirt-steward.io/copy-change-allowed: "true"` gets another one.

The guest shows the new serial from its next start on: licences that go by it may ask to be activated again, and
inventories see another VM. So a VM that runs or is about to start is never changed.

Undo: put the old serial back. Where the VM was started with the new one, or another VM has the old one, that has to be
accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from exporter.domain.identity.indexes import SERIAL
from exporter.facts.firmware import serial_key
from exporter.findings.finding import Finding
from exporter.store.kinds import controller_revision
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.snapshots import VirtualMachineSnapshotContent
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...patterns import PRESENT
from ...plan import Patch, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import Given, Lost, Taken, Undo
from ...writes import Field, Patched, Write
from .._grounds import table
from ._identities import (
    ALLOWED,
    PATH,
    PRECONDITIONS,
    READS,
    STOPPED,
    THE_COPY,
    firmware_of,
    forbidden,
    not_the_copy,
    put,
    saved,
    stopped,
    vm_of,
)
from ._taken_back import KNOWN_BY_PRECONDITIONS, weighed_value

_NAMESPACE = UUID("5d1f0c55-2f2b-4b8e-9a3e-0b0d7c1c4e21")  # of the new serials; never to be changed


def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    looked_up = vm_of(finding, scene)
    if isinstance(looked_up, Refused):
        return looked_up
    ref, (whole, vm) = finding.subject, looked_up
    refused = forbidden(scene, vm, whole) or not_the_copy(finding, scene, vm, whole) or stopped(scene, vm, whole)
    new = str(uuid5(_NAMESPACE, f"{vm.uid} {serial_key(vm.serial)}"))
    if refused := refused or _taken(scene, vm, new):
        return refused
    effect = (
        "From its next start on the guest shows another serial: licences that go by it may ask to be activated again, "
        "and inventories see another VM."
    )
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=put(firmware_of(whole), {"serial": new})),
        effect=effect + saved(scene, vm, "the serial"),
        risk=Risk.IDENTITY,
        undo=f"put the old serial {vm.serial} back while the VM is stopped",
    )


def _taken(scene: Scene, vm: VirtualMachine, new: str) -> Refused | None:
    taken = sorted(each.ref.path for each in scene.sharing(SERIAL, serial_key(new)))
    return Refused("new_serial_is_free", f"{taken[0]} has the serial that {vm.ref} would get") if taken else None


_SERIAL = Field(f"{PATH}/serial", to=PRESENT)
REMEDIATION = Remediation(
    id="reassign_serial",
    title="Give a stopped copy a serial of its own",
    answers={"firmware_serials": ("SerialDuplicate",)},
    reads=(*READS, Pod.KIND, VirtualMachineSnapshotContent.KIND),
    writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (Patched(_SERIAL),)),),
    plan=_plan,
    heeds_others=ALLOWED,
    preconditions={name: what for name, what in PRECONDITIONS.items() if name != "has_domain"}
    | THE_COPY
    | STOPPED
    | {"new_serial_is_free": "no VM has the new serial"},
    risk=Risk.IDENTITY,
    undo="put the old serial back; exact while the VM has not been started since",
    indexes=(SERIAL,),
)


# The old serial is free for the VM as long as nobody else has it, and its guest does not know the new one.


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    def having(serial: str) -> list[str]:
        return [each.ref.path for each in scene.sharing(SERIAL, serial_key(serial))]

    return weighed_value(taken, scene, "serial", "serial_is_free", _serial, having)


def _serial(whole: Mapping[str, Any]) -> str:
    return str(table(firmware_of(whole)).get("serial") or "")


UNDO = Undo(
    id="reassign_serial",
    reads=(*READS, controller_revision.KIND, Pod.KIND),
    indexes=(SERIAL,),
    weigh=_weigh,
    preconditions=KNOWN_BY_PRECONDITIONS,
    losses={
        "same_identity": (Lost.IDENTITY, "the guest has not been started with the serial that goes"),
        "serial_is_free": (Lost.UNIQUENESS, "no other VM has the serial that is put back"),
    },
)
