"""Two VMs that are off have one UUID."""

from __future__ import annotations

import uuid

from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS"]


def _twins(stage: Stage) -> None:
    same = {"uuid": str(uuid.uuid4())}
    for name in ("db", "twin"):
        stage.client.create(fleet.vm(stage.namespace, name, firmware=same))


FAULTS = (
    Fault("twins", "reassign_firmware_uuid", "LatentDuplicate", _twins, VMS, named("twin"), accepts="uniqueness"),
)
