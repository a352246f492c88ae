"""KubevirtMachines of Cluster API: how long a VM that is a node of another cluster may take to drain."""

from __future__ import annotations

from msgspec import field

from ..kind import ApiKind
from ..record import Record, Wire, WireMeta, epoch, identity

__all__ = ["KIND", "KubevirtMachine"]


class _Annotations(Wire, frozen=True, gc=False):
    deadline: str | None = field(name="capk.cluster.x-k8s.io/vmi-deletion-grace-time", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    annotations: _Annotations | None = None


class _KubevirtMachine(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()


class KubevirtMachine(Record, frozen=True, gc=False):
    deadline: float | None  # seconds since 1970 at which its VMI is ended, emptied or not


def _reduce(wire: _KubevirtMachine) -> KubevirtMachine:
    notes = wire.metadata.annotations or _Annotations()
    return KubevirtMachine(*identity(wire.metadata), deadline=epoch(notes.deadline))


KIND = ApiKind(
    KubevirtMachine,
    group="infrastructure.cluster.x-k8s.io",
    versions=("v1alpha1",),
    plural="kubevirtmachines",
    wire=_KubevirtMachine,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
