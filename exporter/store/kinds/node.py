"""Nodes: whether one is being emptied, and what it offers to the VMs of another."""

from __future__ import annotations

from sys import intern

import msgspec

from ...facts.annotations import Note
from ...facts.placement import Taint
from ...facts.quantity import Amounts, amounts_of
from ...facts.record import Record, Wire, WireCondition, WireMeta, epoch, identity
from ..kind import ApiKind

CORDON = "node.kubernetes.io/unschedulable"
"""The taint of a cordoned node, which the node lifecycle controller adds with its time."""
DRAINING = "steward.kubevirt-steward.io/draining"
"""The annotation by which whoever drains a node says so. Its text may be the reason; empty or "false" says nothing."""


class _Taint(Wire, frozen=True, gc=False):
    key: str | None = None
    value: str | None = None
    effect: str | None = None
    time_added: str | None = None


class _Annotations(Wire, frozen=True, gc=False):
    desired_drain: Note = msgspec.field(name="machineconfiguration.openshift.io/desiredDrain", default=None)
    applied_drain: Note = msgspec.field(name="machineconfiguration.openshift.io/lastAppliedDrain", default=None)
    rebooting: Note = msgspec.field(name="weave.works/kured-reboot-in-progress", default=None)
    draining: Note = msgspec.field(name=DRAINING, default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: dict[str, str | None] | None = None
    annotations: _Annotations | None = None


class _Spec(Wire, frozen=True, gc=False):
    unschedulable: bool | None = None
    taints: list[_Taint | None] | None = None


class _NodeInfo(Wire, frozen=True, gc=False):
    system_uuid: str | None = msgspec.field(name="systemUUID", default=None)
    kubelet_version: str | None = None


class _Status(Wire, frozen=True, gc=False):
    allocatable: dict[str, str | int | float | None] | None = None
    conditions: list[WireCondition | None] | None = None
    node_info: _NodeInfo | None = None


class _Node(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class Node(Record, frozen=True, gc=False):
    """A cluster-wide object: its namespace is empty."""

    deleting: float | None
    unschedulable: bool
    taints: tuple[Taint, ...]
    label_pairs: tuple[tuple[str, str], ...]
    allocatable: Amounts
    ready: bool
    unready_since: float | None  # where it is not, and its condition tells
    drained_by: str  # who has noted on it that it is being drained; empty for nobody
    system_uuid: str  # as it is written
    kubelet: str  # its version, such as v1.34.1; empty where it is not known

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.label_pairs)

    @property
    def cordoned(self) -> float | None:
        """Since when, where its taint tells; see `unschedulable` for whether it is."""
        return next((taint.added for taint in self.taints if taint.key == CORDON), None)


def _drained_by(notes: _Annotations | None) -> str:
    """By what OpenShift's MachineConfig operator and kured note of a drain that has not ended
    (pkg/daemon/constants of openshift/machine-config-operator, cmd/kured of kubereboot/kured), else by the annotation
    that whoever drains it by other means sets.
    """
    if notes is None:
        return ""
    desired = notes.desired_drain
    if isinstance(desired, str) and desired.startswith("drain-") and desired != notes.applied_drain:
        return "the MachineConfig operator"
    if notes.rebooting:
        return "kured"
    said = notes.draining.strip().lower() if isinstance(notes.draining, str) else ""
    return f"the client that set annotation {DRAINING}" if said not in ("", "false") else ""


_PAIRS: dict[tuple[str, str | None], tuple[str, str]] = {}
_MOST_PAIRS = 20_000


def _label_pairs(labels: dict[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Sorted; a pair is one tuple in all nodes: KubeVirt gives a node hundreds, most of which others have too."""
    if len(_PAIRS) > _MOST_PAIRS:
        _PAIRS.clear()
    return tuple([_PAIRS.get(pair) or _pair(*pair) for pair in sorted(labels.items())])


def _pair(key: str, value: str | None) -> tuple[str, str]:
    made = intern(key), intern(value or "")
    return _PAIRS.setdefault((made[0], None if value is None else made[1]), made)


def _reduce(wire: _Node) -> Node:
    meta, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    info = status.node_info or _NodeInfo()
    ready = next((each for each in status.conditions or () if each and each.type == "Ready"), WireCondition())
    return Node(
        *identity(meta),
        deleting=epoch(meta.deletion_timestamp),
        unschedulable=bool(spec.unschedulable),
        taints=tuple(
            Taint(intern(each.key or ""), intern(each.value or ""), intern(each.effect or ""), epoch(each.time_added))
            for each in spec.taints or ()
            if each is not None
        ),
        label_pairs=_label_pairs(meta.labels or {}),
        allocatable=amounts_of(status.allocatable),
        ready=ready.status == "True",
        unready_since=epoch(ready.last_transition_time) if ready.status != "True" else None,
        drained_by=_drained_by(meta.annotations),
        system_uuid=info.system_uuid or "",
        kubelet=intern(info.kubelet_version or ""),
    )


KIND = ApiKind(Node, plural="nodes", wire=_Node, reduce=_reduce, namespaced=False)
Node.KIND = KIND


# NodeMaintenances of the node maintenance operator: a node is to be drained.


class _MaintenanceSpec(Wire, frozen=True, gc=False):
    node_name: str | None = None


class _MaintenanceStatus(Wire, frozen=True, gc=False):
    phase: str | None = None
    last_error: str | None = None


class _NodeMaintenance(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _MaintenanceSpec | None = None
    status: _MaintenanceStatus | None = None


class NodeMaintenance(Record, frozen=True, gc=False):
    """A cluster-wide object: its namespace is empty."""

    created: float | None
    deleting: float | None
    node: str
    phase: str  # Running, Succeeded, Failed
    error: str  # of the last attempt to drain the node


def _maintenance(wire: _NodeMaintenance) -> NodeMaintenance:
    meta, status = wire.metadata, wire.status or _MaintenanceStatus()
    return NodeMaintenance(
        *identity(meta),
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        node=intern((wire.spec and wire.spec.node_name) or ""),
        phase=intern(status.phase or ""),
        error=(status.last_error or "")[:256],
    )


MAINTENANCE = ApiKind(
    NodeMaintenance,
    group="nodemaintenance.medik8s.io",
    versions=("v1beta1",),
    plural="nodemaintenances",
    wire=_NodeMaintenance,
    reduce=_maintenance,
    namespaced=False,
    optional=True,
    dispensable=True,
)
NodeMaintenance.KIND = MAINTENANCE
