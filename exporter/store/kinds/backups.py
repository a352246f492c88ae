"""VirtualMachineBackups: of which VM, and whether one is in progress.

Conditions as in staging/src/kubevirt.io/api/backup of kubevirt/kubevirt: Done in its first releases, then Complete and
Failed.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import msgspec

from ...facts.record import Record, Wire, WireCondition, WireMeta, identity
from ..kind import ApiKind

_OVER = ("Done", "Complete", "Failed")


class _Source(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None


class _Spec(Wire, frozen=True, gc=False):
    source: _Source | None = None


class _VMBackupStatus(Wire, frozen=True, gc=False):
    conditions: list[WireCondition | None] | None = None


class _VMBackup(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _VMBackupStatus | None = None


class VirtualMachineBackup(Record, frozen=True, gc=False):
    source: str  # the VM, in its namespace; empty where it is not known, as of one that a tracker names
    active: bool  # neither complete nor failed


def _reduce(wire: _VMBackup) -> VirtualMachineBackup:
    source = (wire.spec and wire.spec.source) or _Source()
    conditions = (wire.status and wire.status.conditions) or ()
    return VirtualMachineBackup(
        *identity(wire.metadata),
        source=(source.name or "") if source.kind == "VirtualMachine" else "",
        active=not any(each and each.type in _OVER and each.status == "True" for each in conditions),
    )


VM_BACKUP = ApiKind(
    VirtualMachineBackup,
    group="backup.kubevirt.io",
    versions=("v1alpha1",),
    plural="virtualmachinebackups",
    wire=_VMBackup,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineBackup.KIND = VM_BACKUP


# Backups and Restores of Velero: of which namespaces, and whether one is in progress.
#
# As in pkg/apis/velero/v1 of vmware-tanzu/velero: no namespaces, and `*`, are all of them; what is excluded is not
# included; a restore writes into the namespace that its mapping has for one, else into that itself.

OVER = ("FailedValidation", "Completed", "PartiallyFailed", "Failed", "Deleting")
"""The phases in which nothing is saved or restored any more."""


class WireNamespaces(Wire, frozen=True, gc=False):
    """The namespaces in the spec of either."""

    included_namespaces: list[str | None] | None = None
    excluded_namespaces: list[str | None] | None = None
    namespace_mapping: dict[str, str | None] | None = None


class Namespaces(msgspec.Struct, frozen=True, gc=False):
    """`mapping` has pairs of a namespace and the one that it is restored into."""

    included: tuple[str, ...]
    excluded: tuple[str, ...]
    mapping: tuple[tuple[str, str], ...]

    def reach(self, namespace: str) -> bool:
        """Whether objects of a namespace may be saved, or be written by a restore.

        Patterns, which later releases of Velero know, count where they include, and not where they exclude.
        """
        if any(into == namespace and self._included(name) for name, into in self.mapping):
            return True
        return dict(self.mapping).get(namespace, namespace) == namespace and self._included(namespace)

    def _included(self, namespace: str) -> bool:
        if namespace in self.excluded:
            return False
        return not self.included or any(fnmatchcase(namespace, each) for each in self.included)


def namespaces_of(spec: WireNamespaces) -> Namespaces:
    return Namespaces(
        tuple(each for each in spec.included_namespaces or () if each),
        tuple(each for each in spec.excluded_namespaces or () if each),
        tuple(sorted((name, into) for name, into in (spec.namespace_mapping or {}).items() if into)),
    )


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None


class _Velero(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: WireNamespaces | None = None
    status: _Status | None = None


class _OfVelero(Record, frozen=True, gc=False):
    """It is in Velero's own namespace, and about others."""

    namespaces: Namespaces
    active: bool  # in no phase in which it is over


class Backup(_OfVelero, frozen=True, gc=False):
    pass


class Restore(_OfVelero, frozen=True, gc=False):
    pass


def _velero(record: type[_OfVelero], plural: str) -> ApiKind[Any]:
    def reduce(wire: _Velero) -> _OfVelero:
        phase = (wire.status and wire.status.phase) or ""
        namespaces = namespaces_of(wire.spec or WireNamespaces())
        return record(*identity(wire.metadata), namespaces=namespaces, active=phase not in OVER)

    return ApiKind(
        record, group="velero.io", plural=plural, wire=_Velero, reduce=reduce, optional=True, dispensable=True
    )


BACKUPS = _velero(Backup, "backups")
RESTORES = _velero(Restore, "restores")
Backup.KIND, Restore.KIND = BACKUPS, RESTORES
