"""The whole answer: what becomes of the VMs of each node, and where those that migrate could go.

Costs what the nodes hold that are asked for, and of the others what room they have, as far as one has to look.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import msgspec

from ...findings import Finding
from ...model.cluster import Cluster
from ...model.eviction import drain_taints, emptied, left_to_drain, webhook_down
from ...model.indexes.migrations import EVACUATED
from ...model.indexes.nodes import NODE, RUNNING
from ...model.kind import ApiKind
from ...model.kinds import (
    endpoint_slice,
    kube_virt,
    node,
    pod,
    pod_disruption_budget,
    virtual_machine_instance,
    virtual_machine_instance_migration,
)
from ...model.kinds.endpoint_slice import EndpointSlice
from ...model.kinds.kube_virt import KubeVirt
from ...model.kinds.node import Node
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...model.record import Record, Ref
from ...model.source import FILE, Source, Undecodable
from ..findings import rfc3339
from . import remedies
from .report import Drain, Limits, NodeReport, Outcome, Reason, Shown, Unseen, VMReport
from .room import Place, Rooms, placement_on_moving
from .vms import Fate, Scene, fates

__all__ = ["CHECK", "INDEXES", "KINDS", "draining", "steps", "take"]

CHECK = "evictions"  # the check whose findings are shown beside
INDEXES = (NODE, RUNNING, EVACUATED)
KINDS: tuple[ApiKind[Any], ...] = (
    node.KIND,
    virtual_machine_instance.KIND,
    pod.KIND,
    pod_disruption_budget.KIND,
    virtual_machine_instance_migration.KIND,
    kube_virt.KIND,
    endpoint_slice.KIND,
)
_ALL_STAND_ON = {Node.__name__, VirtualMachineInstance.__name__, Pod.__name__}
_WEBHOOK = "virt-api has no ready endpoint: every eviction of a VM's pod fails, in the whole cluster"


def draining(cluster: Cluster) -> list[str]:
    """The names of the nodes that are cordoned, or tainted to be drained, in order."""
    kubevirt = next(cluster.all(KubeVirt), None)
    return sorted(each.name for each in cluster.all(Node) if emptied(each) or drain_taints(each, kubevirt))


def take(cluster: Cluster, nodes: Iterable[str], findings: Iterable[Finding], generation: int) -> Drain:
    """As `steps`, at once."""
    work = steps(cluster, nodes, findings, generation)
    while True:
        try:
            next(work)
        except StopIteration as end:
            drain: Drain = end.value
            return drain


def steps(
    cluster: Cluster, nodes: Iterable[str], findings: Iterable[Finding], generation: int
) -> Generator[None, None, Drain]:
    """Of nodes that are there, drained together; stops after every few, so that others get their turn."""
    unseen = tuple(_unseen(cluster))
    kubevirt = next(cluster.all(KubeVirt), None)
    scene = Scene(cluster, kubevirt, frozenset(each.kind for each in unseen))
    asked = [] if _ALL_STAND_ON & scene.unseen else [cluster.get(Node, "", name) for name in dict.fromkeys(nodes)]
    there = [each for each in asked if each is not None]
    found: dict[str, list[Fate]] = {}
    for each in there:
        found[each.name] = fates(each, scene)
        yield
    places = yield from _plan(cluster, there, found)
    shown = _shown(findings)
    reports = []
    for each in there:
        reports.append(_node(each, found[each.name], places, scene, shown))
        yield
    down = webhook_down(cluster.all(EndpointSlice), kubevirt)
    return Drain(
        generation=generation,
        unseen=unseen,
        unread=tuple(sorted(_unread(cluster, {each.subject.namespace for all_ in found.values() for each in all_}))),
        webhook=f"{_WEBHOOK}; {remedies.WEBHOOK}" if down else "",
        limits=Limits(kubevirt.per_cluster, kubevirt.per_node, scene.running) if kubevirt is not None else None,
        nodes=tuple(reports),
    )


def _unseen(cluster: Cluster) -> Iterator[Unseen]:
    for kind in KINDS:
        source = cluster.get(Source, "", kind.name)
        if source is None or not source.readable:
            yield Unseen(kind.name, source.why if source is not None else "nobody looks for it")


_OF_ALL = {kind.name for kind in KINDS} - {"PodDisruptionBudget", "VirtualMachineInstanceMigration"} | {FILE}


def _unread(cluster: Cluster, namespaces: set[str]) -> Iterator[Ref]:
    """What can't be read and may change the answer: PDBs and migrations do so in their own namespace only."""
    kinds = {kind.name for kind in KINDS}
    for undecodable in cluster.all(Undecodable):
        if undecodable.kind in _OF_ALL or (undecodable.kind in kinds and undecodable.namespace in namespaces):
            yield undecodable.ref


# -- where they could go


Key = tuple[str, str, str]


def _plan(cluster: Cluster, nodes: list[Node], found: dict[str, list[Fate]]) -> Generator[None, None, dict[Key, Place]]:
    """First fit for the VMs that are to migrate, the largest by memory first, and those that are blocked last."""
    moving = [(_size(fate), each, fate) for each in nodes for fate in found[each.name] if fate.moves and fate.pod]
    places: dict[Key, Place] = {}
    if not moving:
        return places
    rooms = Rooms(cluster, frozenset(each.name for each in nodes))
    for _, source, fate in sorted(moving, key=lambda each: each[0]):
        if fate.vmi is not None and fate.pod is not None:
            placement = placement_on_moving(fate.vmi, fate.pod, source)
            places[_key(fate.subject)] = yield from rooms.place(placement, fate.pod.requests)
            yield
    return places


def _size(fate: Fate) -> tuple[bool, float, float, str, str]:
    asked = dict(fate.pod.requests) if fate.pod is not None else {}
    blocked = fate.outcome is Outcome.BLOCKS
    return (
        blocked,
        -asked.get("memory", 0.0),
        -asked.get("cpu", 0.0),
        fate.subject.namespace,
        fate.subject.name,
    )


def _key(record: Record) -> Key:
    return type(record).__name__, record.namespace, record.name


# -- as users get it


def _node(
    each: Node, found: list[Fate], places: dict[Key, Place], scene: Scene, shown: dict[Key, list[Shown]]
) -> NodeReport:
    vms = sorted((_vm(fate, places, shown) for fate in found), key=lambda m: _ORDER[m.outcome])
    counts: dict[str, int] = {}
    for vm in vms:
        counts[vm.outcome] = counts.get(vm.outcome, 0) + 1
    bucket = list(scene.cluster.sharing(NODE, each.name))
    moved = [m for m in scene.cluster.sharing(EVACUATED, each.name) if isinstance(m, VirtualMachineInstanceMigration)]
    running = (m for m in bucket if isinstance(m, VirtualMachineInstanceMigration) and m.running)
    return NodeReport(
        node=each.name,
        ready=each.ready,
        cordoned=emptied(each),
        since=rfc3339(each.cordoned),
        taints=drain_taints(each, scene.kubevirt),
        counts=counts,
        evacuated=len({(m.namespace, m.vmi) for m in moved if (m.created or 0.0) >= (each.cordoned or 0.0)}),
        running=sum(1 for _ in running),
        others=len(left_to_drain(p for p in bucket if isinstance(p, Pod) and p.node == each.name)),
        vms=tuple(vms),
        findings=tuple(shown.get(_key(each), ())),
    )


_ORDER = {outcome.value: at for at, outcome in enumerate(Outcome)}


def _vm(fate: Fate, places: dict[Key, Place], shown: dict[Key, list[Shown]]) -> VMReport:
    subject, vmi = fate.subject, fate.vmi
    place = places.get(_key(subject), Place())
    report = VMReport(
        vm=subject.ref,
        outcome=fate.outcome,
        strategy=fate.strategy,
        reason=fate.reason or "",
        why=fate.why,
        remedies=fate.remedies,
        to=fate.to,
        evacuation_since=rfc3339(vmi.evacuation_since) if vmi is not None else "",
        target=place.node,
        room=place.why,
        pod=fate.pod.ref if fate.pod is not None and fate.outcome is not Outcome.ENDS else None,
        findings=tuple(shown.get(_key(subject), ())),
    )
    if fate.outcome is not Outcome.MIGRATES or vmi is None or not place.why:
        return report
    reason = Reason.NO_ROOM_LEFT if place.alone else Reason.NO_TARGET
    after = "after the larger VMs of this drain " if place.alone else ""
    return msgspec.structs.replace(
        report,
        outcome=Outcome.BLOCKS,
        reason=reason,
        why=f"{after}no node can take it: {place.why}",
        remedies=remedies.made_room(vmi),
    )


def _shown(findings: Iterable[Finding]) -> dict[Key, list[Shown]]:
    by_subject: dict[Key, list[Shown]] = {}
    for each in findings:
        if each.check == CHECK:
            key = (each.subject.kind, each.subject.namespace, each.subject.name)
            shown = Shown(each.reason, each.severity.value, each.message, each.fingerprint)
            by_subject.setdefault(key, []).append(shown)
    return by_subject
