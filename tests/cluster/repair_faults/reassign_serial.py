"""Two VMs that are off have one serial, and one of them is a clone."""

from __future__ import annotations

import uuid

from reconcile.plan.remediations.identity._identities import ALLOWED
from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, cloned, named

__all__ = ["FAULTS"]


def _copied(stage: Stage) -> None:
    serial = str(uuid.uuid4())
    for name in ("db", "twin"):
        stage.client.create(_vm(stage, name, serial))
    cloned(stage, "db", "twin")


def _vm(stage: Stage, name: str, serial: str) -> dict[str, object]:
    made = fleet.vm(stage.namespace, name, firmware={"uuid": str(uuid.uuid4()), "serial": serial})
    made["metadata"]["annotations"] = {ALLOWED: "true"}  # they are created in the same second
    return made


FAULTS = (Fault("serials", "reassign_serial", "SerialDuplicate", _copied, VMS, named("twin"), accepts="uniqueness"),)
