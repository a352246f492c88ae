"""VMIs: what runs, where, with which addresses and identity, and the state of its evacuation."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

import msgspec
from msgspec import field

from ...facts.annotations import Faults, Note, read
from ...facts.demand import Demand
from ...facts.firmware import WireFirmware, identifying
from ...facts.nesting import decoded
from ...facts.record import (
    Record,
    Unreadable,
    Wire,
    WireCondition,
    WireMeta,
    WireOwner,
    WireTime,
    epoch,
    kubevirt_owners,
    named,
)
from ...facts.rule import IGNITION, SIDECARS, Asking, Request
from ...facts.spec_facts import spec_facts
from ...facts.times import UNKNOWN, Since, Time
from ...facts.vm_networks import VMNetwork, WireGuestInterface, addresses_of, macs_of, networks_of, tapped
from ...facts.vm_spec import WireDomain, WireVMSpec, fleeting_disks, pvcs_of, sealed_by
from ..kind import ApiKind

FINAL = ("Succeeded", "Failed")
_IO_ERROR = "PausedIOError"
PENDING = ("", "Pending", "Scheduling", "WaitingForSync")
_SHUTDOWN = 180  # seconds, where the spec says nothing
_REVISION = "revision-start-vm-"
_REQUESTED = "network.kubevirt.io/addresses"


class _Labels(Wire, frozen=True, gc=False):
    outdated: str | None = field(name="kubevirt.io/outdatedLauncherImage", default=None)
    capk_name: str | None = field(name="capk.cluster.x-k8s.io/kubevirt-machine-name", default=None)
    capk_namespace: str | None = field(name="capk.cluster.x-k8s.io/kubevirt-machine-namespace", default=None)


class _Annotations(Wire, frozen=True, gc=False):
    addresses: Note = field(name=_REQUESTED, default=None)
    eviction_source: Note = field(name="kubevirt.io/eviction-source", default=None)
    ignition: Note = field(name=IGNITION, default=None)
    sidecars: Note = field(name=SIDECARS, default=None)


class _WrittenStatus(Wire, frozen=True, gc=False):
    evacuation: object = field(name="f:evacuationNodeName", default=None)


class _WrittenFields(Wire, frozen=True, gc=False):
    status: _WrittenStatus | None = field(name="f:status", default=None)


class _Write(Wire, frozen=True, gc=False):
    """Which fields somebody has written, and when last."""

    time: str | None = None
    fields_v1: _WrittenFields | None = field(name="fieldsV1", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None
    annotations: msgspec.Raw = msgspec.Raw()
    owner_references: list[WireOwner | None] | None = None
    managed_fields: list[_Write | None] | None = None


class _MigrationState(Wire, frozen=True, gc=False):
    migration_uid: str | None = None
    start_timestamp: WireTime = None
    end_timestamp: WireTime = None
    failed: bool | None = None
    failure_reason: str | None = None
    source_node: str | None = None
    target_node: str | None = None
    target_node_domain_ready_timestamp: WireTime = None
    mode: str | None = None


class _Volume(Wire, frozen=True, gc=False):
    hotplug_volume: object = None


class _Emulated(Wire, frozen=True, gc=False):
    type: str | None = None


class _Tracking(Wire, frozen=True, gc=False):
    state: str | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    node_name: str | None = None
    evacuation_node_name: str | None = None
    conditions: list[WireCondition | None] | None = None
    migration_state: _MigrationState | None = None
    virtual_machine_revision_name: str | None = None
    volume_status: list[_Volume | None] | None = None
    runtime_user: int | None = None
    machine: _Emulated | None = None
    changed_block_tracking: _Tracking | None = None
    interfaces: list[WireGuestInterface | None] | None = None


class _VirtualMachineInstance(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: WireVMSpec | None = None
    status: _Status | None = None


class Migration(msgspec.Struct, frozen=True, gc=False):
    """The last migration of a VMI, as in its own status. Times are seconds since 1970."""

    uid: str
    started: float | None
    ended: float | None
    failed: bool
    failure: str
    source: str
    target: str
    arrived: float | None  # when the guest was seen to run at the target
    mode: str  # PreCopy, PostCopy or Paused; empty where it has none yet


class VirtualMachineInstance(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    phase: str
    node: str
    vm_uid: str  # of the VirtualMachine that owns it; empty where it stands alone
    owner: str  # `kind name` of its controller, where that is no VirtualMachine, such as a replica set
    networks: tuple[VMNetwork, ...]
    macs: tuple[str, ...]  # each with its NAD, as are the IP addresses (vm_networks.py)
    addresses: tuple[str, ...]  # that the guest agent reports
    tapped: bool  # its guest has the address that the launcher pod has on the pod network (vm_networks.py)
    known_requested: tuple[tuple[str, str], ...]  # (logical network, address) asked for by annotation
    uuid: str  # as it is written; empty for none
    identity: str  # the same, comparable (firmware.py); empty for none and for one that identifies no VM
    serial: str
    sealed: str  # what keeps state of the guest (vm_spec.py); empty for nothing
    fleeting: str  # the disks that are lost with it (vm_spec.py); empty for none
    strategy: str  # its own evictionStrategy; empty where it has none
    evacuation: str  # evacuationNodeName: the node that it is to leave; empty without an evacuation request
    evacuation_since: float | None  # lastTransitionTime of its condition EvictionRequested, while True
    evacuation_written: float | None  # without that condition, when the writer of evacuationNodeName wrote last
    descheduled: bool  # the descheduler asked for its eviction
    migratable: str  # status of its condition LiveMigratable: True, False, Unknown; empty where not evaluated yet
    hindrance: str  # the condition's reason
    hindered: str  # and its message
    paused: bool
    io_error: float | None  # since when it is paused for an IO error of a disk: 0 where that is not known
    migration: Migration | None
    plugged: bool  # volumes were plugged into it while it ran
    outdated: bool  # it runs in a launcher of an older KubeVirt
    handler: str  # the KubevirtMachine, by `namespace/name`, whose controller handles its evictions
    cpu_model: str
    termination: int  # seconds that its guest has to shut down
    generation: str  # of its VM when it started: what ends the name of the ControllerRevision with the VM's spec
    presets: tuple[str, ...]  # the VirtualMachineInstancePresets that were merged into it
    asks: tuple[Request, ...]  # features
    demand: Demand  # of its node, beside features
    hardware: tuple[tuple[str, str], ...]  # what its spec says of CPU, memory and machine type (spec_facts.py)
    pvc_names: str  # the PersistentVolumeClaims of its volumes (vm_spec.py); `pvcs` has them one by one
    emulated: str  # the hardware type that it runs with, of which its spec may have an alias; empty where not known
    blocked: str  # why virt-controller or the scheduler makes no progress with it, while it is pending
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def requested(self) -> tuple[tuple[str, str], ...]:
        """Raises UnreadableFactError where the annotation could not be read."""
        if self.unreadable:
            self.known(_REQUESTED)
        return self.known_requested

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def pvcs(self) -> tuple[str, ...]:
        return tuple(self.pvc_names.split())

    @property
    def started_with(self) -> str:
        """The ControllerRevision with the VM's spec at its start; empty where none is known."""
        return f"{_REVISION}{self.vm_uid}-{self.generation}" if self.generation else ""

    @property
    def final(self) -> bool:
        return self.phase in FINAL

    @property
    def asked(self) -> Time:
        """Since when it is asked to leave a node, where the object tells: KubeVirt before 1.7 has no condition."""
        if not self.evacuation:
            return UNKNOWN
        if self.evacuation_since is not None:
            return self.evacuation_since, Since.CONDITION
        written = self.evacuation_written
        return (written, Since.WRITE) if written is not None else UNKNOWN

    @property
    def migrating(self) -> bool:
        """Whether its own status has a migration that has started and not ended."""
        return self.migration is not None and self.migration.started is not None and self.migration.ended is None


_NOTES = msgspec.json.Decoder(_Annotations | None)
_ALL_NOTES = msgspec.json.Decoder(dict[str, Any] | None)
_PRESET = "virtualmachinepreset.kubevirt.io/"
_PRESETS = _PRESET.encode()


_NO_NOTES = _Annotations()


def _notes(raw: msgspec.Raw) -> _Annotations:
    return decoded(_NOTES, bytes(raw) or b"null") or _NO_NOTES


def _presets(raw: msgspec.Raw) -> tuple[str, ...]:
    """The presets that KubeVirt has noted on it; hardly any VMI has one."""
    text = bytes(raw)
    if _PRESETS not in text:
        return ()
    notes = decoded(_ALL_NOTES, text) or {}
    return tuple(sorted(intern(name.removeprefix(_PRESET)) for name in notes if name.startswith(_PRESET)))


_ADDRESSES = msgspec.json.Decoder(dict[str, list[str] | None])


def _requested(note: Note, faults: Faults) -> tuple[tuple[str, str], ...]:
    asked = read(_REQUESTED, note, _ADDRESSES, faults) or {}
    return tuple((network, address) for network, addresses in asked.items() for address in addresses or ())


def _migration(state: _MigrationState | None) -> Migration | None:
    if state is None:
        return None
    return Migration(
        state.migration_uid or "",
        epoch(state.start_timestamp),
        epoch(state.end_timestamp),
        bool(state.failed),
        (state.failure_reason or "")[:512],
        intern(state.source_node or ""),
        intern(state.target_node or ""),
        epoch(state.target_node_domain_ready_timestamp),
        intern(state.mode or ""),
    )


def _written(writes: list[_Write | None] | None) -> float | None:
    """When the evacuation request was written at the latest: by the first of those whose field it is."""
    found = (
        epoch(each.time)
        for each in writes or ()
        if each and each.fields_v1 and each.fields_v1.status and each.fields_v1.status.evacuation is not None
    )
    return min((each for each in found if each is not None), default=None)


def _generation(revision: str, vm_uid: str) -> str:
    """Kept instead of the whole name, which differs for each VM."""
    prefix = f"{_REVISION}{vm_uid}-"
    return intern(revision[len(prefix) :]) if vm_uid and revision.startswith(prefix) else ""


def _handler(labels: _Labels) -> str:
    return f"{labels.capk_namespace or ''}/{labels.capk_name}" if labels.capk_name else ""


def _plugged(status: _Status) -> bool:
    return any(each is not None and each.hotplug_volume is not None for each in status.volume_status or ())


def _asking(spec: WireVMSpec, notes: _Annotations, status: _Status) -> Asking:
    return Asking(
        spec,
        ignition=notes.ignition,
        sidecars=notes.sidecars,
        tracking=(status.changed_block_tracking and status.changed_block_tracking.state) or "",
        user=status.runtime_user,
        hotplugged=_plugged(status),
    )


def _blocked(phase: str, conditions: Mapping[str | None, WireCondition]) -> str:
    """What its conditions say, while it has not started."""
    if phase not in PENDING:
        return ""
    for name in ("Synchronized", "PodScheduled"):
        found = conditions.get(name)
        if found is not None and found.status == "False":
            return ": ".join(text for text in (found.reason, (found.message or "")[:256]) if text)
    return ""


def _io_error(paused: WireCondition | None) -> float | None:
    if paused is None or paused.status != "True" or paused.reason != _IO_ERROR:
        return None
    return epoch(paused.last_transition_time) or 0.0


_NO_SPEC, _NO_DOMAIN, _NO_FIRMWARE = WireVMSpec(), WireDomain(), WireFirmware()
_NO_STATUS, _NO_LABELS, _NO_CONDITION = _Status(), _Labels(), WireCondition()


def _reduce(wire: _VirtualMachineInstance) -> VirtualMachineInstance:
    meta, status, spec = wire.metadata, wire.status or _NO_STATUS, wire.spec or _NO_SPEC
    labels, notes = meta.labels or _NO_LABELS, _notes(meta.annotations)
    domain = spec.domain or _NO_DOMAIN
    firmware, period = domain.firmware or _NO_FIRMWARE, spec.termination_grace_period_seconds
    conditions = {each.type: each for each in status.conditions or () if each}
    live, eviction = conditions.get("LiveMigratable", _NO_CONDITION), conditions.get("EvictionRequested")
    paused = conditions.get("Paused")
    since = epoch(eviction.last_transition_time) if eviction and eviction.status == "True" else None
    evacuation = intern(status.evacuation_node_name or "")
    owners = kubevirt_owners(meta.owner_references)
    vm_uid = next((o.uid for o in owners if o.kind == "VirtualMachine"), "")
    controller = next((o for o in meta.owner_references or () if o and o.controller), None)
    fields, faults = named(meta), Faults()
    networks = networks_of(spec, fields[0])
    asking = _asking(spec, notes, status)
    facts = spec_facts(asking)
    return VirtualMachineInstance(
        *fields,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        phase=intern(status.phase or ""),
        node=intern(status.node_name or ""),
        vm_uid=vm_uid,
        owner=f"{controller.kind} {controller.name}" if controller and controller.kind != "VirtualMachine" else "",
        networks=networks,
        macs=macs_of(spec, networks, status.interfaces),
        addresses=addresses_of(networks, status.interfaces),
        tapped=tapped(spec, networks),
        known_requested=_requested(notes.addresses, faults),
        uuid=intern(firmware.uuid or ""),
        identity=identifying(firmware.uuid),
        serial=intern(firmware.serial or ""),
        sealed=sealed_by(domain),
        fleeting=fleeting_disks(spec),
        strategy=intern(spec.eviction_strategy or ""),
        evacuation=evacuation,
        evacuation_since=since,
        evacuation_written=_written(meta.managed_fields) if evacuation and since is None else None,
        descheduled=notes.eviction_source == "descheduler",
        migratable=intern(live.status or ""),
        hindrance=intern(live.reason or ""),
        hindered=intern((live.message or "")[:256]),
        paused=paused is not None and paused.status == "True",
        io_error=_io_error(paused),
        migration=_migration(status.migration_state),
        plugged=asking.hotplugged,
        outdated=labels.outdated is not None,
        handler=_handler(labels),
        cpu_model=intern((domain.cpu and domain.cpu.model) or ""),
        generation=_generation(status.virtual_machine_revision_name or "", vm_uid),
        termination=_SHUTDOWN if period is None else max(period, 0),
        presets=_presets(meta.annotations),
        asks=facts.asks,
        demand=facts.demand,
        hardware=facts.hardware,
        pvc_names=pvcs_of(spec),
        emulated=intern((status.machine and status.machine.type) or ""),
        blocked=_blocked(status.phase or "", conditions),
        unreadable=tuple(faults),
    )


KIND = ApiKind(
    VirtualMachineInstance,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstances",
    wire=_VirtualMachineInstance,
    reduce=_reduce,
)
VirtualMachineInstance.KIND = KIND
