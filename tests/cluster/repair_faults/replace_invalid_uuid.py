"""A VM that is off has the UUID that mainboards come with."""

from __future__ import annotations

from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage

from ._fault import Fault, named

__all__ = ["FAULTS"]


def _placeholder(stage: Stage) -> None:
    stage.client.create(fleet.vm(stage.namespace, "db", firmware={"uuid": "03000200-0400-0500-0006-000700080009"}))


FAULTS = (Fault("placeholder", "replace_invalid_uuid", "InvalidUUID", _placeholder, VMS, named("db")),)
