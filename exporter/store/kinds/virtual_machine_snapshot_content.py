"""VirtualMachineSnapshotContents: the VM that a restore would create."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

from ...facts.addresses import comparable
from ...facts.firmware import WireFirmware, identifying
from ...facts.matching import Reference, WireMatcher, pins_of, reference_of
from ...facts.record import Record, Wire, WireMeta, epoch, identity
from ...facts.vm_networks import networks_of
from ...facts.vm_spec import WireDevices, WireDomain, WireVMSpec
from ..kind import ApiKind
from .common.template import WireTemplate


class _VMSpec(Wire, frozen=True, gc=False):
    template: WireTemplate | None = None
    instancetype: WireMatcher | None = None
    preference: WireMatcher | None = None


class _VM(Wire, frozen=True, gc=False):
    metadata: WireMeta | None = None
    spec: _VMSpec | None = None


class _Source(Wire, frozen=True, gc=False):
    virtual_machine: _VM | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Source | None = None
    virtual_machine_snapshot_name: str | None = None


class _Content(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None


SavedMAC = tuple[int, str, str, str]
"""An interface's place in the list, its name, its NAD (`namespace/name`), and its MAC address, comparable."""


class VirtualMachineSnapshotContent(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    snapshot: str  # the VirtualMachineSnapshot that it is of
    source: str  # the VM that was saved, which may be gone
    uuid: str  # as it was saved; empty for none
    identity: str  # the same, comparable (firmware.py); empty for none and for one that identifies nobody
    serial: str
    macs: tuple[SavedMAC, ...]
    pins: tuple[str, ...]  # the ControllerRevisions that the saved spec names
    instancetype: Reference | None  # of the saved spec; what the VM's status referred to is not saved
    preference: Reference | None

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.source,)


def _reduce(wire: _Content) -> VirtualMachineSnapshotContent | None:
    meta, spec = wire.metadata, wire.spec or _Spec()
    saved = (spec.source or _Source()).virtual_machine or _VM()
    source = (saved.metadata or WireMeta()).name
    if not source:
        return None
    template = (saved.spec and saved.spec.template) or WireTemplate()
    spec_of = template.spec or WireVMSpec()
    domain = spec_of.domain or WireDomain()
    firmware, fields = domain.firmware or WireFirmware(), identity(meta)
    uuid = firmware.uuid
    return VirtualMachineSnapshotContent(
        *fields,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        snapshot=spec.virtual_machine_snapshot_name or "",
        source=source,
        uuid=intern(uuid or ""),
        identity=identifying(uuid),
        serial=intern(firmware.serial or ""),
        macs=tuple(_macs(spec_of, fields[0])),
        pins=pins_of(saved.spec.instancetype, saved.spec.preference) if saved.spec else (),
        instancetype=reference_of(saved.spec.instancetype, None) if saved.spec else None,
        preference=reference_of(saved.spec.preference, None) if saved.spec else None,
    )


def _macs(spec: WireVMSpec, namespace: str) -> Iterator[SavedMAC]:
    nads = {name: nad for name, nad, absent in networks_of(spec, namespace) if nad and not absent}
    devices = (spec.domain and spec.domain.devices) or WireDevices()
    for at, each in enumerate(devices.interfaces or ()):
        mac = comparable(each.mac_address) if each is not None and each.name in nads else ""
        if each is not None and each.name and mac:
            yield at, intern(each.name), nads[each.name], intern(mac)


KIND = ApiKind(
    VirtualMachineSnapshotContent,
    group="snapshot.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinesnapshotcontents",
    wire=_Content,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineSnapshotContent.KIND = KIND
