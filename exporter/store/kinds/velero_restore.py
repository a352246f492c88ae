"""Velero's Restores: of which namespaces, and whether one is in progress."""

from __future__ import annotations

from ...domain.identity.velero import OVER, Namespaces, WireNamespaces, namespaces_of
from ..kind import ApiKind
from ..record import Record, Wire, WireMeta, identity


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None


class _Restore(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: WireNamespaces | None = None
    status: _Status | None = None


class Restore(Record, frozen=True, gc=False):
    """It is in Velero's own namespace, and about others."""

    namespaces: Namespaces
    active: bool  # in no phase in which it is over


def _reduce(wire: _Restore) -> Restore:
    phase = (wire.status and wire.status.phase) or ""
    namespaces = namespaces_of(wire.spec or WireNamespaces())
    return Restore(*identity(wire.metadata), namespaces=namespaces, active=phase not in OVER)


KIND = ApiKind(
    Restore, group="velero.io", plural="restores", wire=_Restore, reduce=_reduce, optional=True, dispensable=True
)
Restore.KIND = KIND
