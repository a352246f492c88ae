"""Templates from which a controller makes VMs or VMIs, as far as they tell an identity."""

from __future__ import annotations

from sys import intern

from .firmware import WireFirmware, identifying
from .record import Record, Wire, WireMeta, epoch, identity
from .vm_spec import WireDomain, WireVMSpec

__all__ = ["Template", "WireTemplate", "facts_of"]


class WireTemplate(Wire, frozen=True, gc=False):
    spec: WireVMSpec | None = None


class Template(Record, frozen=True, gc=False):
    deleting: float | None
    replicas: int  # asked for; 1 where the object does not say, as its controller takes it
    uuid: str  # of the template's firmware, as it is written; empty for none
    identity: str  # the same, comparable (firmware.py); empty for none and for one that identifies nobody
    serial: str


def facts_of(
    meta: WireMeta, replicas: int | None, template: WireTemplate | None
) -> tuple[str, str, str, int, float | None, int, str, str, str]:
    """The fields of a Template."""
    domain = ((template and template.spec) or WireVMSpec()).domain or WireDomain()
    firmware = domain.firmware or WireFirmware()
    return (
        *identity(meta),
        epoch(meta.deletion_timestamp),
        1 if replicas is None else replicas,
        intern(firmware.uuid or ""),
        identifying(firmware.uuid),
        intern(firmware.serial or ""),
    )
