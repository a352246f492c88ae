"""VirtualMachines: the owner of what a machine keeps while it is stopped."""

from __future__ import annotations

from .kind import ApiKind
from .record import Record, Wire, WireMeta, epoch, identity

__all__ = ["KIND", "VirtualMachine"]


class _VirtualMachine(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()


class VirtualMachine(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None  # seconds since 1970 at which deletion was asked for

    @property
    def machines(self) -> tuple[str, ...]:
        return (self.name,)


def _reduce(wire: _VirtualMachine) -> VirtualMachine:
    meta = wire.metadata
    return VirtualMachine(
        *identity(meta), created=epoch(meta.creation_timestamp), deleting=epoch(meta.deletion_timestamp)
    )


KIND = ApiKind(
    VirtualMachine,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachines",
    wire=_VirtualMachine,
    reduce=_reduce,
)
