"""Snapshots, restores and clones of VMs: what they say of a stand-still, from which VM to which, whether in progress.

Phases of a clone as in staging/src/kubevirt.io/api/clone of kubevirt/kubevirt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern

from msgspec import field

from ...facts.addresses import comparable
from ...facts.firmware import Changes, WireFirmware, changes_of, identifying
from ...facts.matching import MatcherReference, WireMatcher, pins_of, reference_of
from ...facts.quantity import go_seconds
from ...facts.record import Record, Wire, WireCondition, WireMeta, epoch, identity
from ...facts.vm_networks import networks_of
from ...facts.vm_spec import WireDevices, WireDomain, WireVMSpec
from ..kind import ApiKind, Reach
from .templates import WireTemplate


def stalled(conditions: Iterable[WireCondition | None] | None) -> tuple[str, float | None]:
    """Why it makes no progress, and since when; an empty text where it makes some, or has said nothing yet.

    The text stands in the reason, which is a sentence there (newProgressingCondition of pkg/storage/snapshot of
    kubevirt/kubevirt).
    """
    for each in conditions or ():
        if each and each.type == "Progressing" and each.status == "False":
            return each.reason or each.message or "", epoch(each.last_transition_time)
    return "", None


# VirtualMachineSnapshots: of which VM, whether one is in progress, and what it says where it makes none.

# Seconds after which KubeVirt gives up a snapshot whose spec says nothing else (staging/src/kubevirt.io/api/snapshot).
_DEADLINE = 300.0
_OVER = ("Succeeded", "Failed")  # phases; one that is being deleted still releases the VM


class _Source(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _SnapshotSpec(Wire, frozen=True, gc=False):
    source: _Source | None = None
    failure_deadline: str | None = None


class _SnapshotStatus(Wire, frozen=True, gc=False):
    phase: str | None = None
    conditions: list[WireCondition | None] | None = None


class _Snapshot(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _SnapshotSpec | None = None
    status: _SnapshotStatus | None = None


class VirtualMachineSnapshot(Record, frozen=True, gc=False):
    source: str  # the VM that is saved, in its namespace; empty where that is not known
    active: bool  # neither succeeded nor failed
    deleting: float | None
    deadline: float | None  # when KubeVirt gives it up, in seconds since 1970; None where it never does
    stalled: str  # why it makes no progress, as KubeVirt says; empty where it does not say so
    stalled_since: float | None


def _snapshot(wire: _Snapshot) -> VirtualMachineSnapshot:
    meta, spec, status = wire.metadata, wire.spec or _SnapshotSpec(), wire.status or _SnapshotStatus()
    source = spec.source or _Source()
    why, since = stalled(status.conditions)
    return VirtualMachineSnapshot(
        *identity(meta),
        source=source.name or "",
        active=(status.phase or "") not in _OVER,
        deleting=epoch(meta.deletion_timestamp),
        deadline=_deadline(epoch(meta.creation_timestamp), spec.failure_deadline),
        stalled=why,
        stalled_since=since,
    )


def _deadline(created: float | None, text: str | None) -> float | None:
    seconds = _DEADLINE if text is None else go_seconds(text)
    return created + seconds if created is not None and seconds else None


SNAPSHOT = ApiKind(
    VirtualMachineSnapshot,
    group="snapshot.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinesnapshots",
    wire=_Snapshot,
    reduce=_snapshot,
    optional=True,
    dispensable=True,
)
VirtualMachineSnapshot.KIND = SNAPSHOT


# VirtualMachineRestores: of which VM, whether one is in progress, and what it says where it makes none.


class _Target(Wire, frozen=True, gc=False):
    name: str | None = None


class _RestoreSpec(Wire, frozen=True, gc=False):
    target: _Target | None = None
    virtual_machine_snapshot_name: str | None = None
    patches: list[str | None] | None = None


class _RestoreStatus(Wire, frozen=True, gc=False):
    complete: bool | None = None
    conditions: list[WireCondition | None] | None = None


class _Restore(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _RestoreSpec | None = None
    status: _RestoreStatus | None = None


class VirtualMachineRestore(Record, frozen=True, gc=False):
    target: str  # the VM that it brings back, in its namespace
    active: bool  # neither complete nor failed
    snapshot: str  # of which it is
    deleting: float | None
    stalled: str  # why it makes no progress, as KubeVirt says; empty where it does not say so
    stalled_since: float | None
    changes: Changes  # what its patches change of a VM that it creates


def _restore(wire: _Restore) -> VirtualMachineRestore:
    status = wire.status or _RestoreStatus()
    failed = any(each and each.type == "Failure" and each.status == "True" for each in status.conditions or ())
    spec = wire.spec or _RestoreSpec()
    target = spec.target or _Target()
    why, since = stalled(status.conditions)
    return VirtualMachineRestore(
        *identity(wire.metadata),
        target=target.name or "",
        active=not status.complete and not failed,
        snapshot=spec.virtual_machine_snapshot_name or "",
        deleting=epoch(wire.metadata.deletion_timestamp),
        stalled=why,
        stalled_since=since,
        changes=changes_of(spec.patches),
    )


RESTORE = ApiKind(
    VirtualMachineRestore,
    Reach.NAMESPACE,
    group="snapshot.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinerestores",
    wire=_Restore,
    reduce=_restore,
    optional=True,
    dispensable=True,
)
VirtualMachineRestore.KIND = RESTORE


# VirtualMachineSnapshotContents: the VM that a restore would create.


class _VMSpec(Wire, frozen=True, gc=False):
    template: WireTemplate | None = None
    instancetype: WireMatcher | None = None
    preference: WireMatcher | None = None


class _VM(Wire, frozen=True, gc=False):
    metadata: WireMeta | None = None
    spec: _VMSpec | None = None


class _ContentSource(Wire, frozen=True, gc=False):
    virtual_machine: _VM | None = None


class _ContentSpec(Wire, frozen=True, gc=False):
    source: _ContentSource | None = None
    virtual_machine_snapshot_name: str | None = None


class _Content(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _ContentSpec | None = None


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
    instancetype: MatcherReference | None  # of the saved spec; what the VM's status referred to is not saved
    preference: MatcherReference | None

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.source,)


def _content(wire: _Content) -> VirtualMachineSnapshotContent | None:
    meta, spec = wire.metadata, wire.spec or _ContentSpec()
    saved = (spec.source or _ContentSource()).virtual_machine or _VM()
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


CONTENT = ApiKind(
    VirtualMachineSnapshotContent,
    group="snapshot.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinesnapshotcontents",
    wire=_Content,
    reduce=_content,
    optional=True,
    dispensable=True,
)
VirtualMachineSnapshotContent.KIND = CONTENT


class _Object(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Object | None = None
    target: _Object | None = None
    new_mac_addresses: dict[str, str | None] | None = None
    new_smbios_serial: str | None = field(name="newSMBiosSerial", default=None)
    patches: list[str | None] | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    target_name: str | None = None


class _Clone(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineClone(Record, frozen=True, gc=False):
    source: str  # the VM, in its namespace; empty where it is not known, as of one that is made from a snapshot
    target: str  # the VM that it creates there; empty until it has a name
    active: bool  # neither succeeded nor failed
    made: bool  # it has made its target
    deleting: float | None
    saved: str  # the VirtualMachineSnapshot that it is made from; empty where it is made from a VM
    macs: tuple[tuple[str, str], ...]  # names of interfaces, each with the MAC address that it sets, comparable
    serial: str  # that it sets; empty for none
    changes: Changes  # what its patches change of the VM that it creates, after all that

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.target,) if self.target else ()


def _reduce(wire: _Clone) -> VirtualMachineClone:
    spec, status = wire.spec or _Spec(), wire.status or _Status()
    source, target = spec.source or _Object(), spec.target or _Object()
    return VirtualMachineClone(
        *identity(wire.metadata),
        source=(source.name or "") if source.kind == "VirtualMachine" else "",
        target=target.name or status.target_name or "",
        active=status.phase not in _OVER,
        made=status.phase == _OVER[0],
        deleting=epoch(wire.metadata.deletion_timestamp),
        saved=(source.name or "") if source.kind == "VirtualMachineSnapshot" else "",
        macs=tuple((name, mac) for name, text in (spec.new_mac_addresses or {}).items() if (mac := comparable(text))),
        serial=spec.new_smbios_serial or "",
        changes=changes_of(spec.patches),
    )


CLONE = ApiKind(
    VirtualMachineClone,
    group="clone.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachineclones",
    wire=_Clone,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineClone.KIND = CLONE
