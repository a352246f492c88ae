"""Templates from which a controller creates VMs or VMIs, and the identity that they set."""

from __future__ import annotations

from sys import intern

from ....facts.firmware import WireFirmware, identifying
from ....facts.record import Record, Wire, WireMeta, epoch, identity
from ....facts.rule import IGNITION, SIDECARS, Asking, Request
from ....facts.spec_facts import asks_of
from ....facts.vm_spec import WireDomain, WireVMSpec


class _Meta(Wire, frozen=True, gc=False):
    annotations: dict[str, object] | None = None


class WireTemplate(Wire, frozen=True, gc=False):
    metadata: _Meta | None = None
    spec: WireVMSpec | None = None


class Template(Record, frozen=True, gc=False):
    deleting: float | None
    replicas: int  # desired; 1 if not set, as its controller defaults it
    uuid: str  # of the template's firmware, as written; empty for none
    identity: str  # the same, comparable (firmware.py); empty for none and for one that identifies no VM
    serial: str
    asks: tuple[Request, ...]  # features, of the template as it is written


def facts_of(
    meta: WireMeta, replicas: int | None, template: WireTemplate | None
) -> tuple[str, str, str, int, float | None, int, str, str, str, tuple[Request, ...]]:
    """The fields of a Template."""
    domain = ((template and template.spec) or WireVMSpec()).domain or WireDomain()
    firmware = domain.firmware or WireFirmware()
    notes = (template and template.metadata and template.metadata.annotations) or {}
    asking = Asking(
        (template and template.spec) or WireVMSpec(), ignition=notes.get(IGNITION), sidecars=notes.get(SIDECARS)
    )
    return (
        *identity(meta),
        epoch(meta.deletion_timestamp),
        1 if replicas is None else replicas,
        intern(firmware.uuid or ""),
        identifying(firmware.uuid),
        intern(firmware.serial or ""),
        asks_of(asking),
    )
