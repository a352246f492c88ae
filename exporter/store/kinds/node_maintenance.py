"""NodeMaintenances of the node maintenance operator: a node is to be drained."""

from __future__ import annotations

from sys import intern

from ...facts.record import Record, Wire, WireMeta, epoch, identity
from ..kind import ApiKind


class _Spec(Wire, frozen=True, gc=False):
    node_name: str | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    last_error: str | None = None


class _NodeMaintenance(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class NodeMaintenance(Record, frozen=True, gc=False):
    """A cluster-wide object: its namespace is empty."""

    created: float | None
    deleting: float | None
    node: str
    phase: str  # Running, Succeeded, Failed
    error: str  # of the last attempt to drain the node


def _reduce(wire: _NodeMaintenance) -> NodeMaintenance:
    meta, status = wire.metadata, wire.status or _Status()
    return NodeMaintenance(
        *identity(meta),
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        node=intern((wire.spec and wire.spec.node_name) or ""),
        phase=intern(status.phase or ""),
        error=(status.last_error or "")[:256],
    )


KIND = ApiKind(
    NodeMaintenance,
    group="nodemaintenance.medik8s.io",
    versions=("v1beta1",),
    plural="nodemaintenances",
    wire=_NodeMaintenance,
    reduce=_reduce,
    namespaced=False,
    optional=True,
    dispensable=True,
)
NodeMaintenance.KIND = KIND
