"""A VM has no UUID of its own."""

from __future__ import annotations

from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS"]


def _without_uuid(stage: Stage) -> None:
    stage.client.create(fleet.vm(stage.namespace, "db", firmware={}))


FAULTS = (Fault("without_uuid", "persist_firmware_uuid", "NotPersisted", _without_uuid, VMS, named("db")),)
