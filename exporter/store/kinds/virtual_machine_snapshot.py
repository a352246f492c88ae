"""VirtualMachineSnapshots: of which VM, and whether one is in progress."""

from __future__ import annotations

from ..kind import ApiKind
from ..record import Record, Wire, WireMeta, identity

__all__ = ["KIND", "VirtualMachineSnapshot"]

_OVER = ("Succeeded", "Failed")  # phases; one that is being deleted still releases the VM


class _Source(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Source | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None


class _Snapshot(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineSnapshot(Record, frozen=True, gc=False):
    source: str  # the VM that is saved, in its namespace; empty where that is not known
    active: bool  # neither succeeded nor failed


def _reduce(wire: _Snapshot) -> VirtualMachineSnapshot:
    source = (wire.spec and wire.spec.source) or _Source()
    phase = (wire.status and wire.status.phase) or ""
    return VirtualMachineSnapshot(*identity(wire.metadata), source=source.name or "", active=phase not in _OVER)


KIND = ApiKind(
    VirtualMachineSnapshot,
    group="snapshot.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinesnapshots",
    wire=_Snapshot,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineSnapshot.KIND = KIND
