"""VirtualMachineInstanceMigrations: who asked a VMI to move, how far it is, and what holds it up."""

from __future__ import annotations

from sys import intern

from msgspec import field

from ...facts.record import Record, Wire, WireCondition, WireMeta, WireTime, epoch, identity
from ..kind import ApiKind

_FINAL = ("Succeeded", "Failed")
_NOT_RUNNING = ("", "Pending", "WaitingForSync", "Synchronizing", *_FINAL)
_UPDATE = "kubevirt-workload-update-"
_REJECTIONS = ("migrationRejectedByResourceQuota", "migrationBlockedByBackup", "migrationBlockedByUtilityVolumes")


class _Annotations(Wire, frozen=True, gc=False):
    evacuation: str | None = field(name="kubevirt.io/evacuationMigration", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    annotations: _Annotations | None = None


class _End(Wire, frozen=True, gc=False):
    migration_id: str | None = field(name="migrationID", default=None)


class _Spec(Wire, frozen=True, gc=False):
    vmi_name: str | None = None
    send_to: _End | None = None
    receive: _End | None = None


class _Transition(Wire, frozen=True, gc=False):
    phase: str | None = None
    phase_transition_timestamp: WireTime = None


class _MigrationState(Wire, frozen=True, gc=False):
    failure_reason: str | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    conditions: list[WireCondition | None] | None = None
    phase_transition_timestamps: list[_Transition | None] | None = None
    migration_state: _MigrationState | None = None


class _Migration(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineInstanceMigration(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    vmi: str
    phase: str
    phase_since: float | None  # when it came into its phase, where it tells
    evacuates: str  # the node that it is to empty, of an evacuation; empty for any other
    rejections: tuple[str, ...]  # the conditions that hold it up
    failure: str
    pairing: str  # what the two ends of a migration between clusters or namespaces share
    sends: bool  # of such a pair it is the end that the VMI leaves

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.vmi,) if self.vmi else ()

    @property
    def made_for(self) -> str:
        """Why it was made, in words, where that is seen: by the names that virt-controller gives
        (pkg/virt-controller/watch/drain/evacuation and watch/workload-updater).
        """
        if self.evacuates:
            return f"the evacuation of node {self.evacuates}"
        return "a workload update" if self.updates else ""

    @property
    def updates(self) -> bool:
        """Whether the workload updater made it: for an update of KubeVirt, what was plugged, or other volumes."""
        return self.name.startswith(_UPDATE)

    @property
    def finished(self) -> bool:
        return self.phase in _FINAL

    @property
    def running(self) -> bool:
        """Whether it counts against the limits of migrations at once."""
        return self.phase not in _NOT_RUNNING


def _pairing(spec: _Spec) -> str:
    end = spec.send_to or spec.receive
    return (end.migration_id or "") if end is not None else ""


def _reduce(wire: _Migration) -> VirtualMachineInstanceMigration:
    meta, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    notes, phase = meta.annotations or _Annotations(), status.phase or ""
    times = [each for each in status.phase_transition_timestamps or () if each and each.phase == phase]
    return VirtualMachineInstanceMigration(
        *identity(meta),
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        vmi=spec.vmi_name or "",
        phase=intern(phase),
        phase_since=epoch(times[-1].phase_transition_timestamp) if times else None,
        evacuates=intern(notes.evacuation or ""),
        rejections=tuple(
            intern(c.type) for c in status.conditions or () if c and c.type in _REJECTIONS and c.status == "True"
        ),
        failure=((status.migration_state and status.migration_state.failure_reason) or "")[:512],
        pairing=_pairing(spec),
        sends=spec.send_to is not None,
    )


KIND = ApiKind(
    VirtualMachineInstanceMigration,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstancemigrations",
    wire=_Migration,
    reduce=_reduce,
)
VirtualMachineInstanceMigration.KIND = KIND
