"""VirtualMachines: the owner of what a machine keeps while it is stopped."""

from __future__ import annotations

from .kind import ApiKind
from .machine_networks import MachineNetwork, WireMachineSpec, networks_of
from .record import Record, Wire, WireCondition, WireMeta, epoch, identity

__all__ = ["KIND", "VirtualMachine"]


class _Template(Wire, frozen=True, gc=False):
    spec: WireMachineSpec | None = None


class _Spec(Wire, frozen=True, gc=False):
    template: _Template | None = None


class _Status(Wire, frozen=True, gc=False):
    conditions: list[WireCondition | None] | None = None


class _VirtualMachine(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachine(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None  # seconds since 1970 at which deletion was asked for
    stopped: float | None  # since when it has no instance, where its condition says so (ipamclaims C-18)
    networks: tuple[MachineNetwork, ...]

    @property
    def machines(self) -> tuple[str, ...]:
        return (self.name,)


def _stopped(status: _Status | None) -> float | None:
    for condition in (status and status.conditions) or ():
        if condition and condition.type == "Ready" and condition.status == "False":
            return epoch(condition.last_transition_time) if condition.reason == "VMINotExists" else None
    return None


def _reduce(wire: _VirtualMachine) -> VirtualMachine:
    meta = wire.metadata
    template = wire.spec.template if wire.spec else None
    fields = identity(meta)
    return VirtualMachine(
        *fields,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        stopped=_stopped(wire.status),
        networks=networks_of(template.spec if template else None, fields[0], autoattach=True),
    )


KIND = ApiKind(
    VirtualMachine,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachines",
    wire=_VirtualMachine,
    reduce=_reduce,
)
