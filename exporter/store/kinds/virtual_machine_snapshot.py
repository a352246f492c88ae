"""VirtualMachineSnapshots: of which VM, whether one is in progress, and what it says where it makes none."""

from __future__ import annotations

from ...facts.quantity import go_seconds
from ...facts.record import Record, Wire, WireCondition, WireMeta, epoch, identity
from ..kind import ApiKind
from .common.stalled import stalled

# Seconds after which KubeVirt gives up a snapshot whose spec says nothing else (staging/src/kubevirt.io/api/snapshot).
_DEADLINE = 300.0
_OVER = ("Succeeded", "Failed")  # phases; one that is being deleted still releases the VM


class _Source(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Source | None = None
    failure_deadline: str | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    conditions: list[WireCondition | None] | None = None


class _Snapshot(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineSnapshot(Record, frozen=True, gc=False):
    source: str  # the VM that is saved, in its namespace; empty where that is not known
    active: bool  # neither succeeded nor failed
    deleting: float | None
    deadline: float | None  # when KubeVirt gives it up, in seconds since 1970; None where it never does
    stalled: str  # why it makes no progress, as KubeVirt says; empty where it does not say so
    stalled_since: float | None


def _reduce(wire: _Snapshot) -> VirtualMachineSnapshot:
    meta, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
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
