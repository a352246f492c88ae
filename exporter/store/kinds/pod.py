"""Pods: the launcher pods of VMs, and of every other one what it holds of its node and of networks.

Completed pods are left out by the selector: they hold nothing any more (ipamclaims part 0).
"""

from __future__ import annotations

from enum import StrEnum
from sys import intern

from msgspec import Raw, field

from ...facts.addresses import number
from ...facts.annotations import Faults, Note
from ...facts.placement import Neighbours, Placement
from ...facts.quantity import Amounts
from ...facts.record import Record, Unreadable, Wire, WireCondition, WireMeta, WireOwner, epoch, identity
from ..kind import ApiKind
from .pod_parts import (
    GIVEN,
    REFERRED,
    SELECTED,
    UNSAID,
    WireNetworks,
    WirePodSpec,
    containers_of,
    guest_ended,
    networks_of,
    pod_spec_facts,
)

__all__ = ["GIVEN", "KIND", "REFERRED", "DrainRole", "Pod"]


class _Annotations(WireNetworks, frozen=True, gc=False):
    domain: str | None = field(name="kubevirt.io/domain", default=None)
    mirror: Note = field(name="kubernetes.io/config.mirror", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: dict[str, str | None] | None = None
    annotations: _Annotations | None = None
    owner_references: list[WireOwner | None] | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    conditions: list[WireCondition | None] | None = None
    container_statuses: Raw = Raw()
    init_container_statuses: Raw = Raw()


class _Pod(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: WirePodSpec | None = None
    status: _Status | None = None


class DrainRole(StrEnum):
    """What a pod is to a drain of its node."""

    LAUNCHER = "launcher"
    HOTPLUG = "hotplug"  # holds a volume that was plugged into a running VM
    HANDLER = "handler"  # virt-handler, of a DaemonSet
    DAEMON = "daemon"  # of another DaemonSet: a drain leaves it
    MIRROR = "mirror"  # of the kubelet itself: a drain leaves it
    OTHER = "other"


class Pod(Record, frozen=True, gc=False):
    """By what is `known_…` it is found. To conclude something from it there are the properties without that word:
    they raise UnreadableFactError where the annotation could not be read.
    """

    role: DrainRole
    created: float | None
    deleting: float | None
    phase: str
    node: str
    domain: str  # the VMI's name, of a launcher pod; empty of any other
    vmi_uid: str
    known_claims: tuple[str, ...]  # `namespace/name` of the IPAMClaims that it refers to
    # (`namespace/name` of a NAD it attaches to, claim or empty); of a launcher pod, and where its addresses are unknown
    known_selections: tuple[tuple[str, str], ...]
    # (`namespace/name` of the attachment's NAD, canonical address, prefix length or -1)
    known_addresses: tuple[tuple[str, str, int], ...]
    numbers: tuple[int, ...]  # the addresses as integers (addresses.py), in their order
    owner: str  # the name of its controller, of a pod that holds a plugged volume: the launcher pod
    ready: bool
    evicted: float | None  # when its eviction was granted, 0 where no time is given; None where it was not
    scheduled: float | None  # when it got its node
    started: float | None  # of the target of a migration: when the last of its containers that run started
    lagging: str | None  # and the first one that KubeVirt waits for (pod_parts.py)
    waiting: tuple[str, ...]  # of the one that keeps it from starting, as `Containers` has it
    sandboxed: str  # of the same, the status of its condition PodReadyToStartContainers; empty where it has none
    guest_ended: bool  # of a launcher pod: its container compute has ended
    unschedulable: str  # what the scheduler says, of a pod that finds no node; empty otherwise
    migration: str  # the uid of the migration that it is, or was, the target of
    label_pairs: tuple[tuple[str, str], ...]  # of a launcher pod; `labels` has them whole
    requests: Amounts
    placement: Placement  # of a launcher pod
    neighbours: Neighbours  # of the same
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def claims(self) -> tuple[str, ...]:
        if self.unreadable:
            self.known(*REFERRED)
        return self.known_claims

    @property
    def selections(self) -> tuple[tuple[str, str], ...]:
        if self.unreadable:
            self.known(*SELECTED)
        return self.known_selections

    @property
    def addresses(self) -> tuple[tuple[str, str, int], ...]:
        if self.unreadable:
            self.known(*GIVEN)
        return self.known_addresses

    def lacks(self, annotations: tuple[str, ...]) -> bool:
        """Whether one of these annotations could not be read."""
        return any(fact.annotation in annotations for fact in self.unreadable)

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.domain,) if self.domain else ()

    @property
    def labels(self) -> dict[str, str]:
        own = {_NAME: self.domain, _UID: self.vmi_uid, _MIGRATION: self.migration}
        return {key: own.get(value, value) for key, value in self.label_pairs}


# Stand in a label for what differs from VM to VM, so that pods that look alike share one tuple.
_NAME, _UID, _MIGRATION = "\0name", "\0uid", "\0migration"
_SHARED: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
_MOST_SHARED = 50_000


def _label_pairs(labels: dict[str, str | None], own: dict[str, str]) -> tuple[tuple[str, str], ...]:
    made = tuple([(intern(key), own.get(value or "") or intern(value or "")) for key, value in sorted(labels.items())])
    if len(_SHARED) > _MOST_SHARED:
        _SHARED.clear()
    return _SHARED.setdefault(made, made)


def _role(meta: _Meta, labels: dict[str, str | None], controller: WireOwner) -> DrainRole:
    if labels.get("kubevirt.io") == "virt-launcher":
        return DrainRole.LAUNCHER
    if labels.get("kubevirt.io") == "hotplug-disk":
        return DrainRole.HOTPLUG
    if meta.annotations is not None and meta.annotations.mirror is not None:
        return DrainRole.MIRROR
    if controller.kind != "DaemonSet":
        return DrainRole.OTHER
    return DrainRole.HANDLER if labels.get("kubevirt.io") == "virt-handler" else DrainRole.DAEMON


def _evicted(disrupted: WireCondition) -> float | None:
    """Written by the API server when it grants an eviction; preemption, taints and the kubelet have other reasons
    (pkg/registry/core/pod/storage/eviction.go of kubernetes/kubernetes).
    """
    granted = disrupted.status == "True" and disrupted.reason == "EvictionByEvictionAPI"
    return (epoch(disrupted.last_transition_time) or 0.0) if granted else None


_NO_SPEC, _NO_STATUS, _NO_NOTES = WirePodSpec(), _Status(), _Annotations()
_NO_OWNER, _NO_CONDITION = WireOwner(), WireCondition()


def _reduce(wire: _Pod) -> Pod | None:
    meta, spec, status = wire.metadata, wire.spec or _NO_SPEC, wire.status or _NO_STATUS
    phase = status.phase or ""
    if phase in ("Succeeded", "Failed"):
        return None
    notes, labels = meta.annotations or _NO_NOTES, meta.labels or {}
    controller = next((each for each in meta.owner_references or () if each and each.controller), _NO_OWNER)
    role = _role(meta, labels, controller)
    launcher = role is DrainRole.LAUNCHER
    domain, uid = (notes.domain or "") if launcher else "", labels.get("kubevirt.io/created-by") or ""
    migration = labels.get("kubevirt.io/migrationJobUID") or ""
    own = {
        value: placeholder for value, placeholder in ((migration, _MIGRATION), (uid, _UID), (domain, _NAME)) if value
    }
    conditions = {each.type: each for each in status.conditions or () if each}
    scheduled = conditions.get("PodScheduled", _NO_CONDITION)
    fields, faults = identity(meta), Faults()
    networks = networks_of(fields[0], notes, faults)
    starts = bool(migration) or (launcher and phase == "Pending")
    containers = containers_of(status.container_statuses, status.init_container_statuses) if starts else UNSAID
    sandbox = conditions.get("PodReadyToStartContainers", _NO_CONDITION) if starts else _NO_CONDITION
    created, deleting = epoch(meta.creation_timestamp), epoch(meta.deletion_timestamp)
    evicted = _evicted(conditions.get("DisruptionTarget", _NO_CONDITION))
    since = epoch(scheduled.last_transition_time) if scheduled.status == "True" else None
    facts = pod_spec_facts(spec, launcher=launcher)
    return Pod(
        *fields,
        role=role,
        created=created,
        deleting=deleting,
        phase=intern(phase),
        node=intern(spec.node_name or ""),
        domain=intern(domain),
        vmi_uid=intern(uid),
        known_claims=networks.claims,
        known_selections=networks.selections if launcher or faults else (),
        known_addresses=networks.addresses,
        numbers=tuple(number(host) for _, host, _ in networks.addresses),
        owner=(controller.name or "") if role is DrainRole.HOTPLUG else "",
        ready=conditions.get("Ready", _NO_CONDITION).status == "True",
        evicted=evicted,
        scheduled=since,
        started=containers.started,
        lagging=containers.lagging,
        waiting=containers.waiting,
        sandboxed=intern(sandbox.status or ""),
        guest_ended=launcher and guest_ended(status.container_statuses),
        unschedulable=(scheduled.message or "Unschedulable")[:512] if scheduled.reason == "Unschedulable" else "",
        migration=migration,
        label_pairs=_label_pairs(labels, own) if launcher else (),
        requests=facts.requests,
        placement=facts.placement,
        neighbours=facts.neighbours,
        unreadable=tuple(faults),
    )


KIND = ApiKind(
    Pod,
    plural="pods",
    wire=_Pod,
    reduce=_reduce,
    selectors=(("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),),
)
Pod.KIND = KIND
