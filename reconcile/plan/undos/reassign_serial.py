"""The old serial is free for the VM as long as nobody else has it, and its guest does not know the new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.domain.identity.firmware import serial_key
from exporter.store.indexes.identities import SERIAL
from exporter.store.kinds import controller_revision
from exporter.store.kinds.pod import Pod

from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import table
from ..remediations.identity._identities import READS, firmware_of
from ..undo import Given, Lost, Taken, Undo
from ._identifying import PRECONDITIONS, weighed_value


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
    preconditions=PRECONDITIONS,
    losses={
        "same_identity": (Lost.IDENTITY, "the guest has not been started with the serial that goes"),
        "serial_is_free": (Lost.UNIQUENESS, "no other VM has the serial that is put back"),
    },
)
