"""Gives a stopped VM that is a copy a serial of its own, where it has that of the VM that it is a copy of.

Only where the check `firmware_serials` says that the VM is a copy, and which VM keeps the serial. The new serial
follows from the VM's UID and the old serial, so that the plan is the same each time. The UUID stays as it is.

What a VirtualMachineClone or a snapshot's restore made in the namespace of the VM that keeps the serial is a copy.
Where that is not certain (another namespace, a backup of Velero, no annotation of either) only a VM with the annotation
`steward.kubevirt-steward.io/copy-change-allowed: "true"` gets another one.

The guest shows the new serial from its next start on: licenses bound to it might ask to be activated again, and
inventories see another VM. So a VM that runs or is about to start is never changed.

Undo: put the old serial back. Where the VM was started with the new one, or another VM has the old one, that has to be
accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from exporter.domain.identity import SERIAL
from exporter.facts.firmware import serial_key

from ...guards import guard
from ...patterns import PRESENT
from ...plan import Refused
from ...remediation import Scene
from ...undo import UndoRequest
from ...writes import Field
from .._grounds import table
from ._identities import (
    ALLOWED,
    PATH,
    IdentityCase,
    change,
    firmware_of,
    firmware_set,
    forbidden,
    not_the_copy,
    stopped,
)
from ._taken_back import GuestValue, value_back

_NAMESPACE = UUID("5d1f0c55-2f2b-4b8e-9a3e-0b0d7c1c4e21")  # of the new serials; never to be changed


def _new(case: IdentityCase) -> str:
    return str(uuid5(_NAMESPACE, f"{case.vm.uid} {serial_key(case.vm.serial)}"))


@guard(indexes=(SERIAL,))
def _having(scene: Scene, serial: str) -> list[str]:
    return sorted(each.ref.path for each in scene.sharing(SERIAL, serial_key(serial)))


@guard({"new_serial_is_free": "no VM has the new serial"}, _having)
def _free(case: IdentityCase) -> Refused | None:
    taken = _having(case.scene, _new(case))
    return Refused("new_serial_is_free", f"{taken[0]} has the serial that {case.vm.ref} would get") if taken else None


REMEDIATION = change(
    "reassign_serial",
    "Give a stopped copy a serial of its own",
    forbidden.but("has_domain"),
    not_the_copy,
    stopped,
    _free,
    what="serial",
    old=lambda case: case.vm.serial,
    ops=firmware_set("serial", _new),
    writes=(Field(f"{PATH}/serial", to=PRESENT),),
    effect=lambda _: (
        "From its next start on the guest shows another serial: licenses bound to it might ask to be "
        "activated again, and inventories see another VM."
    ),
    heeds_others=ALLOWED,
    note="Where the finding does not say which VM is the copy, the VM needs the annotation `steward.kubevirt-"
    'steward.io/copy-change-allowed: "true"`.',
)


# The old serial is free for the VM as long as nobody else has it, and its guest does not know the new one.


def _serial(_: UndoRequest, whole: Mapping[str, Any]) -> str:
    return str(table(firmware_of(whole)).get("serial") or "")


UNDO = value_back("reassign_serial", GuestValue("serial", "serial_is_free", _serial, _having))
