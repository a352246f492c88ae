"""VirtualMachineRestores: of which VM, whether one is in progress, and what it says where it makes none."""

from __future__ import annotations

from ...facts.firmware import Changes, changes_of
from ...facts.record import Record, Wire, WireCondition, WireMeta, epoch, identity
from ..kind import ApiKind, Reach
from .common.stalled import stalled


class _Target(Wire, frozen=True, gc=False):
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    target: _Target | None = None
    virtual_machine_snapshot_name: str | None = None
    patches: list[str | None] | None = None


class _Status(Wire, frozen=True, gc=False):
    complete: bool | None = None
    conditions: list[WireCondition | None] | None = None


class _Restore(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineRestore(Record, frozen=True, gc=False):
    target: str  # the VM that it brings back, in its namespace
    active: bool  # neither complete nor failed
    snapshot: str  # of which it is
    deleting: float | None
    stalled: str  # why it makes no progress, as KubeVirt says; empty where it does not say so
    stalled_since: float | None
    changes: Changes  # what its patches change of a VM that it creates


def _reduce(wire: _Restore) -> VirtualMachineRestore:
    status = wire.status or _Status()
    failed = any(each and each.type == "Failure" and each.status == "True" for each in status.conditions or ())
    spec = wire.spec or _Spec()
    target = spec.target or _Target()
    why, since = stalled(status.conditions)
    return VirtualMachineRestore(
        *identity(wire.metadata),
        target=target.name or "",
        active=not status.complete and not failed,
        snapshot=spec.virtual_machine_snapshot_name or "",
        deleting=epoch(wire.metadata.deletion_timestamp),
        stalled=why,
        stalled_since=since,
        changes=changes_of(spec.patches),
    )


KIND = ApiKind(
    VirtualMachineRestore,
    Reach.NAMESPACE,
    group="snapshot.kubevirt.io",
    versions=("v1beta1", "v1alpha1"),
    plural="virtualmachinerestores",
    wire=_Restore,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineRestore.KIND = KIND
