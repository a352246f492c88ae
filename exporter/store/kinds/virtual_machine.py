"""VirtualMachines: the owner of what a VM keeps while it is stopped."""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern

from msgspec import Raw, field

from ...facts.annotations import Note
from ...facts.demand import Demand
from ...facts.drain_stop import STOPPED_FOR_DRAIN, DrainStop, set_by, stop_of
from ...facts.firmware import WireFirmware, identifying
from ...facts.matching import MatcherReference, WireMatcher, WireStatusRef, reference_of
from ...facts.quantity import Amounts
from ...facts.record import Record, Wire, WireCondition, WireMeta, WireOwner, epoch, named
from ...facts.rule import IGNITION, SIDECARS, Asking, Request
from ...facts.shape import Shape, WireShapeTemplate, shape_of
from ...facts.spec_facts import spec_facts
from ...facts.vm_networks import VMNetwork, macs_of, networks_of
from ...facts.vm_spec import WireDomain, WireVMSpec, pvcs_of, sealed_by
from ..kind import ApiKind

# What the conditions of a VM say.

_RESOLVING = ("FailedFindInstancetype", "FailedFindPreference", "FailedCreate")

Conditions = Iterable[WireCondition | None] | None


def stopped_in(conditions: Conditions) -> float | None:
    """Since when it has no VMI, in seconds since 1970."""
    condition = _first(conditions, "Ready", "False")
    if condition is None or condition.reason != "VMINotExists":
        return None
    return epoch(condition.last_transition_time)


def failure_in(conditions: Conditions) -> tuple[str, str, float | None]:
    """Reason, message and time of the condition."""
    condition = _first(conditions, "Failure", "True")
    if condition is None:
        return "", "", None
    reason = intern(condition.reason or "")
    if reason not in _RESOLVING:
        return reason, "", None
    return reason, intern((condition.message or "")[:256]), epoch(condition.last_transition_time)


def restart_required_in(conditions: Conditions) -> tuple[str, float | None]:
    """Message and time of the condition."""
    condition = _first(conditions, "RestartRequired", "True")
    if condition is None:
        return "", None
    message = condition.message or condition.reason or condition.type or ""
    return intern(message[:256]), epoch(condition.last_transition_time)


def _first(conditions: Conditions, name: str, status: str) -> WireCondition | None:
    for each in conditions or ():
        if each is not None and each.type == name and each.status == status:
            return each
    return None


_CRITICAL = ("system-cluster-critical", "system-node-critical")
_NOT_STARTED_FOR_ITS_DISKS = ("Provisioning", "WaitingForVolumeBinding", "DataVolumeError", "ErrorPvcNotFound")


PROTECTION = "kubevirt.io/vm-delete-protection"
"""A policy of kubevirt/ssp-operator rejects the deletion of a VM with it (internal/operands/vm-delete-protection)."""


class _Labels(Wire, frozen=True, gc=False):
    restored_by: str | None = field(name="velero.io/restore-name", default=None)
    protected: str | None = field(name=PROTECTION, default=None)


class _Annotations(Wire, frozen=True, gc=False):
    restored: Note = field(name="restore.kubevirt.io/lastRestoreUID", default=None)
    applied: Note = field(name="kubectl.kubernetes.io/last-applied-configuration", default=None)
    stopped: Note = field(name=STOPPED_FOR_DRAIN, default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None
    annotations: _Annotations | None = None
    owner_references: list[WireOwner | None] | None = None
    managed_fields: Raw = Raw()


class _Spec(Wire, frozen=True, gc=False):
    template: WireShapeTemplate | None = None
    run_strategy: str | None = None
    running: bool | None = None
    instancetype: WireMatcher | None = None
    preference: WireMatcher | None = None
    update_volumes_strategy: str | None = None


class _StateChange(Wire, frozen=True, gc=False):
    action: str | None = None


class _Tracking(Wire, frozen=True, gc=False):
    state: str | None = None


class _StartFailure(Wire, frozen=True, gc=False):
    consecutive_fail_count: int | None = None


class _Status(Wire, frozen=True, gc=False):
    conditions: list[WireCondition | None] | None = None
    printable_status: str | None = None
    instancetype_ref: WireStatusRef | None = None
    preference_ref: WireStatusRef | None = None
    state_change_requests: list[_StateChange | None] | None = None
    changed_block_tracking: _Tracking | None = None
    run_strategy: str | None = None
    start_failure: _StartFailure | None = None
    snapshot_in_progress: str | None = None
    restore_in_progress: str | None = None


class _VirtualMachine(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachine(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None  # seconds since 1970 at which deletion was asked for
    stopped: float | None  # since when it has no VMI, if its condition says so
    networks: tuple[VMNetwork, ...]
    macs: tuple[str, ...]  # that its template sets, each with its NAD (vm_networks.py)
    run_strategy: str
    uuid: str  # of its template's firmware, as it is written; empty for none
    identity: str  # the same, comparable (firmware.py); empty for none and for one that identifies nobody
    serial: str
    sealed: str  # what keeps state of the guest (vm_spec.py); empty for nothing
    reboots_anew: bool  # a reboot by the guest makes a new VMI (rebootPolicy Terminate)
    pool: str  # the VirtualMachinePool that made it
    origin: str  # what brought it here, where metadata tell: "restore", "backup", "manifest", or empty
    failure: str  # the reason of its condition Failure
    failed: str  # and its message, where it may be about an instancetype or preference
    failed_since: float | None
    restart_required: str  # the message of this condition: what waits for its next start; empty for nothing
    restart_since: float | None
    waits_for_disks: bool
    failed_starts: int  # in a row, by KubeVirt's count
    critical: bool  # its priority class is one of those of Kubernetes for what must not fail
    instancetype: MatcherReference | None
    preference: MatcherReference | None
    shape: Shape | None  # what its template sets itself, where it has one of the two
    asks: tuple[Request, ...]  # features, of its template as it is written
    demand: Demand  # of its node, beside features
    hardware: tuple[tuple[str, str], ...]  # CPU, memory and machine type, as far as its template says (spec_facts.py)
    pvc_names: str  # the PersistentVolumeClaims of its volumes (vm_spec.py); `pvcs` has them one by one
    memory: Amounts  # that its launcher pod asks for at the least, as far as its template says (spec_facts.py)
    start_requested: bool  # by somebody, and not done yet
    settled: bool  # its status has the same run strategy: what that starts at once has been started
    drain_stop: DrainStop | None  # that it was stopped for the drain of a node, by its annotation
    set_by: tuple[str, ...]  # then the field managers of its run strategy, as far as its managedFields say
    locked_by: str  # the snapshot or restore that is in progress, by its status
    protected: bool  # from deletion, by its label
    invalid: str  # why KubeVirt can't take it at all; empty where it can

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def pvcs(self) -> tuple[str, ...]:
        return tuple(self.pvc_names.split())


_NO_NOTES, _NO_SPEC, _NO_STATUS = _Annotations(), _Spec(), _Status()
_NO_TEMPLATE, _NO_VM_SPEC, _NO_DOMAIN, _NO_FIRMWARE = WireShapeTemplate(), WireVMSpec(), WireDomain(), WireFirmware()


def _origin(meta: _Meta, uuid: str) -> str:
    """Of several the one that says most about a copied UUID; a manifest only counts where it brought the UUID."""
    notes = meta.annotations or _NO_NOTES
    if notes.restored:
        return "restore"
    if meta.labels is not None and meta.labels.restored_by:
        return "backup"
    return "manifest" if uuid and isinstance(notes.applied, str) and uuid in notes.applied else ""


def _run_strategy(spec: _Spec) -> str:
    if spec.run_strategy:
        return intern(spec.run_strategy)
    return "" if spec.running is None else "Always" if spec.running else "Halted"


TEMPLATE_MISSING = "it has no template"


def _invalid(spec: _Spec) -> str:
    if spec.template is None:
        return TEMPLATE_MISSING
    return "it has both running and runStrategy" if spec.running is not None and spec.run_strategy else ""


def _asking(spec: _Spec, status: _Status, strategy: str) -> Asking:
    template = spec.template or _NO_TEMPLATE
    notes = (template.metadata and template.metadata.annotations) or {}
    return Asking(
        template.spec or _NO_VM_SPEC,
        ignition=notes.get(IGNITION),
        sidecars=notes.get(SIDECARS),
        run_strategy=strategy,
        volumes_strategy=spec.update_volumes_strategy or "",
        tracking=(status.changed_block_tracking and status.changed_block_tracking.state) or "",
    )


def _reduce(wire: _VirtualMachine) -> VirtualMachine:
    meta, spec, status = wire.metadata, wire.spec or _NO_SPEC, wire.status or _NO_STATUS
    template = (spec.template and spec.template.spec) or _NO_VM_SPEC
    domain = template.domain or _NO_DOMAIN
    firmware = domain.firmware or _NO_FIRMWARE
    fields, conditions = named(meta), status.conditions
    networks = networks_of(template, fields[0], autoattach=True)
    failure, failed, failed_since = failure_in(conditions)
    restart, restart_since = restart_required_in(conditions)
    instancetype = reference_of(spec.instancetype, status.instancetype_ref)
    preference = reference_of(spec.preference, status.preference_ref)
    requested, strategy = status.state_change_requests, _run_strategy(spec)
    facts = spec_facts(_asking(spec, status, strategy))
    stop = stop_of((meta.annotations or _NO_NOTES).stopped)
    return VirtualMachine(
        *fields,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        stopped=stopped_in(conditions),
        networks=networks,
        macs=macs_of(template, networks),
        run_strategy=strategy,
        uuid=intern(firmware.uuid or ""),
        identity=identifying(firmware.uuid),
        serial=intern(firmware.serial or ""),
        sealed=sealed_by(domain),
        reboots_anew=domain.reboot_policy == "Terminate",
        pool=next((o.name or "" for o in meta.owner_references or () if o and o.kind == "VirtualMachinePool"), ""),
        origin=_origin(meta, firmware.uuid or ""),
        failure=failure,
        failed=failed,
        failed_since=failed_since,
        restart_required=restart,
        restart_since=restart_since,
        waits_for_disks=status.printable_status in _NOT_STARTED_FOR_ITS_DISKS,
        failed_starts=(status.start_failure and status.start_failure.consecutive_fail_count) or 0,
        critical=template.priority_class_name in _CRITICAL,
        instancetype=instancetype,
        preference=preference,
        shape=shape_of(spec.template) if instancetype or preference else None,
        asks=facts.asks,
        demand=facts.demand,
        hardware=facts.hardware,
        pvc_names=pvcs_of(template),
        memory=facts.memory,
        start_requested=bool(requested and requested[0] and requested[0].action == "Start"),
        settled=bool(strategy) and status.run_strategy == strategy,
        drain_stop=stop,
        set_by=tuple(sorted(set_by(bytes(meta.managed_fields), stop.field))) if stop is not None else (),
        locked_by=status.snapshot_in_progress or status.restore_in_progress or "",
        protected=meta.labels is not None and meta.labels.protected in ("true", "True"),
        invalid=_invalid(spec),
    )


KIND = ApiKind(
    VirtualMachine,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachines",
    wire=_VirtualMachine,
    reduce=_reduce,
)
VirtualMachine.KIND = KIND
