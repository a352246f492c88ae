"""The whole answer: the departures of each node, and where those that migrate could go.

Costs what the nodes hold that are asked for, and of the others what room they have, as far as one has to look.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...domain.acts import Act
from ...domain.drains.departure import (
    REMEDIES,
    Departure,
    DrainContext,
    DrainState,
    NodeContext,
    drain_context,
    each_departure,
    in_order,
    node_context,
)
from ...domain.drains.departure.context import INDEXES as OF_DEPARTURES
from ...domain.drains.departure.remedies import Remedy
from ...domain.drains.eviction import EvictionAnswer, cordoned, drain_taints, left_to_drain, webhook_down
from ...domain.drains.health import ailment, grounded
from ...domain.features.configuration import chosen
from ...domain.identity import standing
from ...facts.naming import sentence, subject_first
from ...facts.record import Record, Ref
from ...facts.selector import Selector
from ...findings.advice import Advice, key_of, next_step, of_standing, places_of, restrained
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...store.cluster import Cluster
from ...store.indexes.drains import BOUND, EVACUATED
from ...store.kind import ApiKind
from ...store.kinds import node, pod
from ...store.kinds.components import EndpointSlice
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node, NodeMaintenance
from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.storage import PersistentVolume
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.reader import ClusterView, Reading
from ...store.source import FILE, Source, Undecodable
from ..nearest import meant, shortened
from ..question import NotThereError
from ..times import rfc3339
from .report import LEAVES, Drain, MigrationLimits, NodeReport, Shown, UnseenKind, VMReport
from .room import AFFINITY, NodeChoice, NodeRoom, bindings, placement_on_moving, seen, unevaluated

CHECK = "evictions"  # the check whose findings are shown beside
INDEXES = (*OF_DEPARTURES, EVACUATED, BOUND)
KINDS: tuple[ApiKind[Any], ...] = (
    node.KIND,
    VirtualMachineInstance.KIND,
    pod.KIND,
    PodDisruptionBudget.KIND,
    VirtualMachineInstanceMigration.KIND,
    KubeVirt.KIND,
    EndpointSlice.KIND,
)
READER = Reading("drain", (*KINDS, NodeMaintenance.KIND, PersistentVolume.KIND), INDEXES)
_ALL_STAND_ON = {Node.__name__, VirtualMachineInstance.__name__, Pod.__name__}
_ONCE = "WebhookDown"  # said of the whole drain
_WEBHOOK = (
    "virt-api has no ready endpoint: every eviction of a launcher pod fails, in the whole cluster; bring virt-api back "
    "(kubectl get pods -A -l kubevirt.io=virt-api), and leave its webhook as it is"
)


def node_names(cluster: Cluster) -> list[str]:
    """Of all nodes, in order."""
    return sorted(each.name for each in cluster.all(Node))


def draining(cluster: Cluster) -> list[str]:
    """The names of the nodes that are cordoned, or tainted to be drained, in order."""
    kubevirt = next(cluster.all(KubeVirt), None)
    return sorted(each.name for each in cluster.all(Node) if cordoned(each) or drain_taints(each, kubevirt))


class Drains:
    """Drains of one cluster as it is now: what is the same of each is looked at once."""

    def __init__(self, cluster: Cluster, findings: Iterable[Finding]) -> None:
        self._cluster, self._unseen = cluster, tuple(_unseen(cluster, KINDS))
        self._context = drain_context(ClusterView(cluster, READER), frozenset(each.kind for each in self._unseen))
        self._shown, self._forbidding = _shown(findings)
        self._volumes = seen(cluster)

    def of(self, nodes: Iterable[str], generation: int) -> Generator[None, None, Drain]:
        """Of nodes that are there, drained together; stops after every VM, so that others get their turn."""
        cluster, context, shown, forbidding = self._cluster, self._context, self._shown, self._forbidding
        asked = [] if _ALL_STAND_ON & context.unseen else [cluster.get(Node, "", name) for name in dict.fromkeys(nodes)]
        there = [each for each in asked if each is not None]
        found: dict[str, list[Departure]] = {}
        contexts: dict[str, NodeContext] = {}
        for each in there:
            contexts[each.name] = node_context(context, each.name)
            leaving: list[Departure] = []
            for departure in each_departure(contexts[each.name]):
                leaving.append(grounded(departure, each))
                yield
            found[each.name] = in_order(leaving)
        places = yield from _plan(cluster, there, found)
        reports = []
        for each in there:
            moved = _evacuated(cluster, each)
            vms: list[VMReport] = []
            for departure in found[each.name]:
                place = places.get(_key(departure.subject), NodeChoice())
                placed = _placed(departure, place, volumes=self._volumes)
                held = _forbidden(placed, forbidding)
                vms.append(_vm(cluster, held, place if held is placed else NodeChoice(), shown, forbidding))
                yield
            reports.append(_node(contexts[each.name], each, vms, moved, shown))
        namespaces = {each.subject.namespace for all_ in found.values() for each in all_}
        down = webhook_down(cluster.all(EndpointSlice), context.kubevirt)
        return Drain(
            generation=generation,
            unseen=self._unseen + tuple(self._unseen_of(found)),
            unread=tuple(sorted(_unread(cluster, namespaces))),
            webhook=_WEBHOOK if down else "",
            limits=_limits(context),
            nodes=tuple(reports),
        )

    def _unseen_of(self, found: dict[str, list[Departure]]) -> Iterator[UnseenKind]:
        """What only matters for these VMs."""
        claims = any(each.vmi is not None and each.vmi.pvcs for all_ in found.values() for each in all_)
        if claims and not self._volumes:
            yield from _unseen(self._cluster, (PersistentVolume.KIND,))
        if not any(each.kind == KubeVirt.__name__ for each in self._unseen):
            yield from _without_kubevirt(self._cluster)


def steps(
    cluster: Cluster, nodes: Iterable[str], findings: Iterable[Finding], generation: int
) -> Generator[None, None, Drain]:
    """Of nodes that are there, drained together; stops after every VM, so that others get their turn."""
    return (yield from Drains(cluster, findings).of(nodes, generation))


def _limits(context: DrainContext) -> MigrationLimits | None:
    kubevirt = context.kubevirt
    return MigrationLimits(kubevirt.per_cluster, kubevirt.per_node, context.running) if kubevirt is not None else None


def _unseen(cluster: Cluster, kinds: Iterable[ApiKind[Any]]) -> Iterator[UnseenKind]:
    for kind in kinds:
        source = cluster.get(Source, "", kind.name)
        if source is None or not source.readable:
            yield UnseenKind(kind.name, source.why if source is not None else "it is not watched")


def _without_kubevirt(cluster: Cluster) -> Iterator[UnseenKind]:
    """Why nobody knows what KubeVirt does where it is seen: without one it migrates nothing."""
    found = chosen(cluster.all(KubeVirt))
    if isinstance(found, str) and not any(each.kind == KubeVirt.__name__ for each in cluster.all(Undecodable)):
        yield UnseenKind(KubeVirt.__name__, f"{found}: who would migrate a VMI is not known")


_OF_ALL = {kind.name for kind in KINDS} - {"PodDisruptionBudget", "VirtualMachineInstanceMigration"} | {FILE}


def _unread(cluster: Cluster, namespaces: set[str]) -> Iterator[Ref]:
    """What can't be read and may change the answer: PDBs and migrations do so in their own namespace only."""
    kinds = {kind.name for kind in KINDS}
    for undecodable in cluster.all(Undecodable):
        if undecodable.kind in _OF_ALL or (undecodable.kind in kinds and undecodable.namespace in namespaces):
            yield undecodable.ref


# -- where they could go


Key = tuple[str, str, str]


def _plan(
    cluster: Cluster, nodes: list[Node], found: dict[str, list[Departure]]
) -> Generator[None, None, dict[Key, NodeChoice]]:
    """First fit for the VMs that are to migrate, the largest by memory first, and those that are blocked last."""
    moving = [
        (_size(each.pod, each), node, each.pod, each.vmi)
        for node in nodes
        if ailment(node) is None
        for each in found[node.name]
        if each.vmi is not None and each.pod is not None and _moves(each)
    ]
    places: dict[Key, NodeChoice] = {}
    if not moving:
        return places
    rooms = NodeRoom(cluster, frozenset(each.name for each in nodes))
    for _, source, launcher, vmi in sorted(moving, key=lambda each: each[0]):
        volumes = tuple(dict.fromkeys(each for _, each in bindings(cluster, vmi.namespace, vmi.pvcs)))
        places[_key(vmi)] = yield from rooms.place(placement_on_moving(vmi, launcher, source), launcher, volumes)
        yield
    return places


def _moves(departure: Departure) -> bool:
    """Whether it is to migrate, and has no target yet; what is blocked may be once it is not any more."""
    waits = departure.state in (DrainState.WAITING, DrainState.MAY_MIGRATE, DrainState.BLOCKED)
    able = departure.answer is EvictionAnswer.MIGRATES
    return waits and able and departure.reason != "NameTooLong" and departure.evidence.get("cause") != "NameTooLong"


def _size(pod: Pod, departure: Departure) -> tuple[bool, float, float, str, str]:
    asked = dict(pod.requests)
    blocked, subject = departure.state is DrainState.BLOCKED, departure.subject
    return (blocked, -asked.get("memory", 0.0), -asked.get("cpu", 0.0), subject.namespace, subject.name)


def _key(record: Record) -> Key:
    return type(record).__name__, record.namespace, record.name


# -- as users get it


def _evacuated(cluster: Cluster, node: Node) -> int:
    """How many VMs were moved off it since it was cordoned."""
    moved = [m for m in cluster.sharing(EVACUATED, node.name) if isinstance(m, VirtualMachineInstanceMigration)]
    return len({(m.namespace, m.vmi) for m in moved if (m.created or 0.0) >= (node.cordoned or 0.0)})


def _node(
    context: NodeContext, node: Node, found: list[VMReport], evacuated: int, shown: dict[Key, list[Shown]]
) -> NodeReport:
    vms = sorted(found, key=lambda vm: _ORDER[vm.state])
    counts: dict[str, int] = {}
    for vm in vms:
        counts[vm.state] = counts.get(vm.state, 0) + 1
    return NodeReport(
        node=node.name,
        ready=node.ready,
        cordoned=context.cordoned,
        since=rfc3339(node.cordoned),
        taints=context.taints,
        drain=context.signals,
        counts=counts,
        evacuated=evacuated,
        running=context.outbound,
        others=len(left_to_drain(pod for pod in context.pods if pod.node == node.name)),
        vms=tuple(vms),
        findings=tuple(shown.get(_key(node), ())),
    )


_ORDER = {state.value: at for at, state in enumerate(DrainState)}


def _vm(
    cluster: Cluster,
    departure: Departure,
    place: NodeChoice,
    shown: dict[Key, list[Shown]],
    forbidding: dict[tuple[str, str], list[Finding]],
) -> VMReport:
    subject, vmi, pod = departure.subject, departure.vmi, departure.pod
    findings = tuple(shown.get(_key(subject), ()))
    ends = departure.state is DrainState.TERMINATING
    goes_on = departure.state in LEAVES
    # What is being deleted, migrates or is another controller's has a reason once it takes too long, and that only the
    # check knows.
    lasts = any(each.reason == departure.reason for each in findings)
    advised = lasts or not (ends or departure.state is DrainState.MIGRATING)
    advice = _advice(cluster, departure, forbidding)
    return VMReport(
        vm=subject.ref,
        state=DrainState.BLOCKED if goes_on and lasts else departure.state,
        strategy=departure.strategy,
        reason=departure.reason if advised else "",
        why=departure.why,
        next=advice.next if advised else "",
        commands=advice.commands if advised else (),
        to=departure.to,
        evacuation_since=rfc3339(vmi.asked[0]) if vmi is not None else "",
        target=place.node,
        room=place.why,
        pod=pod.ref if pod is not None and not ends else None,
        answer=departure.answer or "",
        findings=findings,
    )


def _placed(departure: Departure, place: NodeChoice, *, volumes: bool) -> Departure:
    """With what the plan says of one that is to migrate: nowhere, or perhaps. `volumes`: where they can be used is
    seen.
    """
    if departure.state not in (DrainState.WAITING, DrainState.MAY_MIGRATE):
        return departure
    if place.why and not (departure.state is DrainState.WAITING and departure.reason):
        return _without_room(departure, place)
    vmi, pod = departure.vmi, departure.pod
    unknown = [*unevaluated(pod.neighbours)] if pod is not None else []
    unknown += [AFFINITY] if vmi is not None and vmi.pvcs and not volumes else []
    if not unknown or departure.reason:
        return departure
    why = f"{departure.why.removesuffix('.')}, if {' and '.join(unknown)} let it, which is not evaluated here."
    return replace(departure, state=DrainState.MAY_MIGRATE, why=why)


def _forbidden(departure: Departure, forbidding: dict[tuple[str, str], list[Finding]]) -> Departure:
    """One that is to migrate while an open finding says that no migration of it succeeds: it stays."""
    vmi = departure.vmi
    if vmi is None or departure.reason or departure.state not in (DrainState.WAITING, DrainState.MAY_MIGRATE):
        return departure
    places = places_of(vmi.namespace, vmi.node, [nad for _, nad, _ in vmi.networks])
    open_ = (each for key in ((vmi.namespace, vmi.name), *places) for each in forbidding.get(key, ()))
    no = min(
        (each for each in open_ if each.reason != _ONCE and each.forbids and Act.MIGRATE in each.forbids.acts),
        key=lambda each: (each.severity is not Severity.CRITICAL, each.reason, each.subject),
        default=None,
    )
    if no is None or no.forbids is None:
        return departure
    why = sentence(subject_first("", f"the VMI can't be migrated now: {no.forbids.why}"))
    remedy = Remedy(no.next, no.commands, no.does or ())
    return replace(departure, state=DrainState.BLOCKED, reason=no.reason, why=why, remedy=remedy, values={}, to="")


def _without_room(departure: Departure, place: NodeChoice) -> Departure:
    reason = "NoRoomLeft" if place.alone else "NoTarget"
    after = "after the larger VMs of this drain " if place.alone else ""
    why = sentence(subject_first("", f"{after}no node can take the VMI: {place.why}"))
    remedy = REMEDIES.get(f"{reason}/{place.first}") or REMEDIES[reason]
    values = {**departure.values, "RESOURCE": place.lacking}
    return replace(departure, state=DrainState.BLOCKED, reason=reason, why=why, remedy=remedy, values=values)


def _advice(cluster: Cluster, departure: Departure, forbidding: dict[tuple[str, str], list[Finding]]) -> Advice:
    """What to do about it, beside what the findings of the VM warn of."""
    subject = departure.subject
    step = next_step(departure.remedy, departure.values)
    own = Advice(departure.reason, subject.ref, step, departure.commands, departure.remedy.does)
    name = subject.domain if isinstance(subject, Pod) else subject.name
    node = departure.vmi.node if departure.vmi is not None else departure.values.get("NODE", "")
    places = places_of(subject.namespace, node)
    own = of_standing(own, standing(cluster, subject.namespace, name))
    return restrained(own, [each for key in ((subject.namespace, name), *places) for each in forbidding.get(key, ())])


def _shown(findings: Iterable[Finding]) -> tuple[dict[Key, list[Shown]], dict[tuple[str, str], list[Finding]]]:
    """Those of the check by subject; of all those that forbid something to be done to their VM, by VM."""
    by_subject: dict[Key, list[Shown]] = {}
    forbidding: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        if each.forbids is not None:
            forbidding.setdefault(key_of(each), []).append(each)
        if each.check == CHECK:
            key = (each.subject.kind, each.subject.namespace, each.subject.name)
            shown = Shown(each.reason, each.severity.value, each.message, each.fingerprint)
            by_subject.setdefault(key, []).append(shown)
    return by_subject, forbidding


# Which nodes are meant: by name, by label, or all that are cordoned or being drained.


def chosen_nodes(
    cluster: Cluster, names: Iterable[str], by: Selector | None = None, *, cordoned: bool = False
) -> list[str]:
    """The names of all that are meant in one way or another, each once. Raises NotThereError."""
    found = dict.fromkeys(names)
    for name in found:
        if cluster.get(Node, "", name) is None:
            raise NotThereError(_unknown(cluster, name))
    if by is not None:
        found |= dict.fromkeys(sorted(each.name for each in cluster.all(Node) if by.matches(each.labels)))
        if not found:
            raise NotThereError(f"no node has the labels {by}")
    if cordoned:
        found |= dict.fromkeys(draining(cluster))
    return list(found)


def _unknown(cluster: Cluster, name: str) -> str:
    names = (each.name for each in cluster.all(Node))
    return f"no node is called {shortened(name)!r}; {meant(name, names, 'nodes')}"
