"""VirtualMachineBackups: of which VM, and whether one is in progress.

Conditions as in staging/src/kubevirt.io/api/backup of kubevirt/kubevirt: Done in its first releases, then Complete and
Failed.
"""

from __future__ import annotations

from ...facts.record import Record, Wire, WireCondition, WireMeta, identity
from ..kind import ApiKind

_OVER = ("Done", "Complete", "Failed")


class _Source(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Source | None = None


class _Status(Wire, frozen=True, gc=False):
    conditions: list[WireCondition | None] | None = None


class _Backup(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class VirtualMachineBackup(Record, frozen=True, gc=False):
    source: str  # the VM, in its namespace; empty where it is not known, as of one that a tracker names
    active: bool  # neither complete nor failed


def _reduce(wire: _Backup) -> VirtualMachineBackup:
    source = (wire.spec and wire.spec.source) or _Source()
    conditions = (wire.status and wire.status.conditions) or ()
    return VirtualMachineBackup(
        *identity(wire.metadata),
        source=(source.name or "") if source.kind == "VirtualMachine" else "",
        active=not any(each and each.type in _OVER and each.status == "True" for each in conditions),
    )


KIND = ApiKind(
    VirtualMachineBackup,
    group="backup.kubevirt.io",
    versions=("v1alpha1",),
    plural="virtualmachinebackups",
    wire=_Backup,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineBackup.KIND = KIND
