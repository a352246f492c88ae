"""VirtualMachineInstances: what runs of a machine, and where."""

from __future__ import annotations

from sys import intern

from .kind import ApiKind
from .record import Record, Wire, WireMeta, WireOwner, epoch, identity, kubevirt_owners

__all__ = ["KIND", "VirtualMachineInstance"]


class _Meta(WireMeta, frozen=True, gc=False):
    owner_references: list[WireOwner | None] | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    node_name: str | None = None


class _VirtualMachineInstance(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    status: _Status | None = None


class VirtualMachineInstance(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    phase: str
    node: str
    vm_uid: str  # of the VirtualMachine that owns it; empty where it stands alone

    @property
    def machines(self) -> tuple[str, ...]:
        return (self.name,)


def _reduce(wire: _VirtualMachineInstance) -> VirtualMachineInstance:
    meta, status = wire.metadata, wire.status or _Status()
    return VirtualMachineInstance(
        *identity(meta),
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        phase=intern(status.phase or ""),
        node=intern(status.node_name or ""),
        vm_uid=next((o.uid for o in kubevirt_owners(meta.owner_references) if o.kind == "VirtualMachine"), ""),
    )


KIND = ApiKind(
    VirtualMachineInstance,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstances",
    wire=_VirtualMachineInstance,
    reduce=_reduce,
)
