"""KubevirtMachines of Cluster API: how long a VM that is a node of another cluster may take to drain."""

from __future__ import annotations

from msgspec import field

from ...facts.annotations import Faults, Note, moment
from ...facts.record import Record, Unreadable, Wire, WireMeta, identity
from ..kind import ApiKind

_DEADLINE = "capk.cluster.x-k8s.io/vmi-deletion-grace-time"


class _Annotations(Wire, frozen=True, gc=False):
    deadline: Note = field(name=_DEADLINE, default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    annotations: _Annotations | None = None


class _KubevirtMachine(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()


class KubevirtMachine(Record, frozen=True, gc=False):
    deadline: float | None  # seconds since 1970 at which its VMI is ended, emptied or not; None where that is not known
    unreadable: tuple[Unreadable, ...] = ()


def _reduce(wire: _KubevirtMachine) -> KubevirtMachine:
    notes, faults = wire.metadata.annotations or _Annotations(), Faults()
    fields, deadline = identity(wire.metadata), moment(_DEADLINE, notes.deadline, faults)
    return KubevirtMachine(*fields, deadline=deadline, unreadable=tuple(faults))


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
KubevirtMachine.KIND = KIND
