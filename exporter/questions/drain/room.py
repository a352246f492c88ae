"""Which of the nodes that stay could take a VM, as far as nodes and pods show: the scheduler has the last word.

First fit, and what was placed takes room from what comes after it. A node's free room is what it offers to pods less
what those on it ask for; it is counted when the node is first looked at. VMs that look alike are kept off the same
nodes by the same things, which are found out once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from ...domain.features.node_sets import CPU_FEATURE, CPU_TO_MIGRATE, Moving, closed, cpu_of_node
from ...facts.naming import named
from ...facts.placement import ALONE, Neighbours, NeighbourTerm, Placement
from ...facts.quantity import Amounts
from ...store.cluster import Cluster
from ...store.indexes.drains import BOUND, NODE
from ...store.kinds.node import Node
from ...store.kinds.pod import DrainRole, Pod
from ...store.kinds.storage import PersistentVolume
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.source import Undecodable, unseen

# From which nodes the volumes of a VM can be used, by the node affinity of their PersistentVolumes.
#
# Not considered: zones that are labels of a PersistentVolume, as drivers within Kubernetes had them; the volume that
# KubeVirt makes for the state of a TPM or of EFI variables.

AFFINITY = "the node affinity of its volumes"


def seen(cluster: Cluster) -> bool:
    """Whether all PersistentVolumes can be seen."""
    unread = (each for each in cluster.all(Undecodable) if each.kind == PersistentVolume.__name__)
    return not unseen(cluster, (PersistentVolume,)) and next(unread, None) is None


def bindings(cluster: Cluster, namespace: str, pvcs: Iterable[str]) -> Iterator[tuple[str, Placement]]:
    """By the name of each PersistentVolumeClaim whose volume can't be used from every node. The cluster keeps BOUND."""
    for name in pvcs:
        found = cluster.sharing(BOUND, f"{namespace}/{name}")
        yield from ((name, each.placement) for each in found if isinstance(each, PersistentVolume))


# Which nodes the affinity and anti-affinity of a VM to other pods rules out, as far as launcher pods show: the labels
# of other pods are not kept.
#
# Pods on nodes that are drained do not count: they leave too, and count where they were placed by the plan.

APART = "with pods that its anti-affinity keeps it apart from"


def unevaluated(neighbours: Neighbours) -> list[str]:
    """What of it is not known."""
    found = ["its topology spread constraints"] if neighbours.spread else []
    if any(not each.of_vms or each.elsewhere for each in neighbours.terms):
        found.append("its affinity to pods that are no VM's, or in other namespaces")
    return found


class Neighbourhood:
    def __init__(self, cluster: Cluster, leaving: frozenset[str]) -> None:
        self._cluster, self._leaving = cluster, leaving
        self._found: dict[tuple[str, NeighbourTerm], list[tuple[str, str, str]]] = {}
        self._placed: list[tuple[Pod, str]] = []

    def place(self, pod: Pod, node: str) -> None:
        """From now on it counts as one that runs there."""
        if pod.labels:
            self._placed.append((pod, node))

    def obstacles(self, pod: Pod, nodes: Iterable[Node]) -> list[str]:
        """Of each node what keeps the pod off it; empty where nothing is seen to."""
        nodes = list(nodes)
        found = [""] * len(nodes)
        for term in pod.neighbours.terms:
            domains = self._domains(pod, term)
            for at, node in enumerate(nodes):
                there = node.labels.get(term.topology)
                if term.apart and there in domains:
                    found[at] = found[at] or APART
                elif not term.apart and term.of_vms and not term.elsewhere and there not in domains:
                    found[at] = found[at] or "without pods that its affinity asks for"
        return found

    def apart_from(self, pod: Pod) -> list[str]:
        """The VMs that its anti-affinity keeps it apart from, in order; only those of its namespace, since whoever asks
        may not be allowed to see others.
        """
        terms = (term for term in pod.neighbours.terms if term.apart)
        return sorted({name for term in terms for _, name in self._matching(pod, term) if name})

    def _domains(self, pod: Pod, term: NeighbourTerm) -> set[str]:
        """The values of the term's node label where such pods run."""
        nodes = {node for node, _ in self._matching(pod, term)}
        labels = (each.labels for each in (self._cluster.get(Node, "", name) for name in nodes) if each is not None)
        return {value for each in labels if (value := each.get(term.topology)) is not None}

    def _matching(self, pod: Pod, term: NeighbourTerm) -> set[tuple[str, str]]:
        """The node and the VM of each such pod, beside those of its own VMI."""
        namespaces = self._namespaces(pod, term)
        found = [(uid, node, ns, name) for ns in namespaces for uid, node, name in self._of(ns, term)]
        placed = ((each, node) for each, node in self._placed if each.namespace in namespaces)
        found += [
            (each.vmi_uid, node, each.namespace, each.domain)
            for each, node in placed
            if term.selector.matches(each.labels)
        ]
        own = pod.namespace
        return {(node, name if ns == own else "") for uid, node, ns, name in found if uid != pod.vmi_uid}

    def _namespaces(self, pod: Pod, term: NeighbourTerm) -> tuple[str, ...]:
        return term.namespaces or (pod.namespace,)

    def _of(self, namespace: str, term: NeighbourTerm) -> list[tuple[str, str, str]]:
        """The launcher pods that it matches there: the uid of their VMI, their node, and the VMI's name."""
        key = (namespace, term)
        if key not in self._found:
            self._found[key] = [
                (each.vmi_uid, each.node, each.domain)
                for each in self._cluster.within(Pod, namespace)
                if each.role is DrainRole.LAUNCHER and each.node and each.node not in self._leaving
                if each.deleting is None and term.selector.matches(each.labels)
            ]
        return self._found[key]


_SLICE = 100  # nodes looked at between two looks at the event loop
_MOST_REASONS = 6
NO_ACCESS = "without access to its volumes"


@dataclass(frozen=True)
class NodeChoice:
    """`node` that could take it; where there is none, `why`, and whether one could if nothing else were to move.

    `first` is what rules out most nodes: Resource, Device, Selector, Taint, Cordoned, AntiAffinity, PodAffinity, Volume
    or Other, and `lacking` the resource that is short.
    """

    node: str = ""
    why: str = ""
    alone: bool = False
    first: str = ""
    lacking: str = ""


def placement_on_moving(vmi: VirtualMachineInstance, pod: Pod, source: Node) -> Placement:
    """Where the pod that it migrates into may run: what its present pod asks for, and for a CPU of the host's model
    also that model and its features, unless an earlier migration has fixed them (prepareNodeSelectorForHostCpuModel).
    """
    selector = pod.placement.selector
    if vmi.cpu_model != "host-model" or any(each.key.startswith((CPU_TO_MIGRATE, CPU_FEATURE)) for each in selector):
        return pod.placement
    return msgspec.structs.replace(pod.placement, selector=selector + cpu_of_node(source, Moving(host_model=True)))


@dataclass
class _Tally:
    """Why nodes can't: how many for each reason, and of each resource that lacks the most that is free."""

    kept_off: dict[str, int] = field(default_factory=dict)
    lacking: dict[str, int] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)

    def lacks(self, resource: str, free: float) -> None:
        self.lacking[resource] = self.lacking.get(resource, 0) + 1
        self.most[resource] = max(free, self.most.get(resource, free))

    def _short(self, name: str, needed: float) -> str:
        verb = "lacks" if self.lacking[name] == 1 else "lack"
        return (
            f"{verb} {name} (needs {amount_written(name, needed)}, most free {amount_written(name, self.most[name])})"
        )

    @property
    def first(self) -> tuple[str, str]:
        """What rules out most nodes, and the resource, if it is one."""
        counted = [(count, kind_of_lack(name), name) for name, count in self.lacking.items()]
        counted += [(count, _kind(reason), "") for reason, count in self.kept_off.items()]
        _, kind, resource = max(counted, key=lambda each: each[0], default=(0, "Other", ""))
        return kind, resource

    def text(self, needed: dict[str, float], apart_from: Sequence[str]) -> str:
        """`apart_from` are the VMs that an anti-affinity is about."""
        total = sum(self.lacking.values()) + sum(self.kept_off.values())
        counted = [(count, self._short(name, needed[name])) for name, count in self.lacking.items()]
        whom = f" ({named(apart_from)})" if apart_from else ""
        counted += [(count, reason + (whom if reason == APART else "")) for reason, count in self.kept_off.items()]
        counted.sort(key=lambda each: -each[0])
        shown = [f"{count} {reason}" for count, reason in counted[:_MOST_REASONS]]
        if rest := sum(count for count, _ in counted[_MOST_REASONS:]):
            shown.append(f"{rest} for other reasons")
        return f"{total} {'node' if total == 1 else 'nodes'}: {', '.join(shown)}" if total else "there is no other node"


class NodeRoom:
    def __init__(self, cluster: Cluster, leaving: frozenset[str]) -> None:
        """`leaving` are the nodes that are drained together: none of them takes anything. The cluster keeps NODE."""
        self._cluster = cluster
        self._neighbourhood = Neighbourhood(cluster, leaving)
        self._nodes = sorted((n for n in cluster.all(Node) if n.name not in leaving), key=lambda node: node.name)
        self._closed = [closed(node) for node in self._nodes]
        self._kept_off: dict[Placement, list[str]] = {}
        self._whole: dict[str, dict[str, float]] = {}
        self._left: dict[str, dict[str, float]] = {}
        # Room only shrinks: what found none finds none again.
        self._none: dict[tuple[Placement, tuple[Placement, ...], Amounts], NodeChoice] = {}

    def place(
        self, placement: Placement, pod: Pod, volumes: tuple[Placement, ...] = ()
    ) -> Generator[None, None, NodeChoice]:
        """Finds a node for the pod that stands for this one, and takes the room there; stops now and then so that
        others get their turn. `volumes` are where its volumes can be used.
        """
        requests = pod.requests
        like = (placement, volumes, requests) if pod.neighbours == ALONE else None
        if like is not None and (known := self._none.get(like)) is not None:
            return known
        needed = {**dict(requests), "pods": 1.0}
        obstacles = yield from self._obstacles(placement)
        if pod.neighbours.terms:
            kept = self._neighbourhood.obstacles(pod, self._nodes)
            obstacles = [first or second for first, second in zip(obstacles, kept, strict=True)]
        for each in volumes:
            kept = yield from self._obstacles(each)
            obstacles = [first or (second and NO_ACCESS) for first, second in zip(obstacles, kept, strict=True)]
        tally, alone = _Tally(), False
        for done, (node, obstacle) in enumerate(zip(self._nodes, obstacles, strict=True)):
            if done % _SLICE == _SLICE - 1:
                yield
            if obstacle:
                tally.kept_off[obstacle] = tally.kept_off.get(obstacle, 0) + 1
                continue
            left = self._free(node)
            lack = short_of(needed, left)
            if not lack:
                for name, amount in needed.items():
                    left[name] = left.get(name, 0.0) - amount
                self._neighbourhood.place(pod, node.name)
                return NodeChoice(node.name)
            tally.lacks(lack, left.get(lack, 0.0))
            alone = alone or not short_of(needed, self._whole[node.name])
        apart_from = self._neighbourhood.apart_from(pod) if APART in tally.kept_off else []
        none = NodeChoice("", tally.text(needed, apart_from), alone, *tally.first)
        if like is not None:
            self._none[like] = none
        return none

    def _obstacles(self, placement: Placement) -> Generator[None, None, list[str]]:
        """Of each node what keeps such a pod off it, whatever room there is."""
        found = self._kept_off.get(placement)
        if found is None:
            found = []
            for node, closed in zip(self._nodes, self._closed, strict=True):
                found.append(closed or _worded(placement.obstacle(node.name, node.labels, node.taints)))
                if len(found) % _SLICE == 0:
                    yield
            self._kept_off[placement] = found
        return found

    def _free(self, node: Node) -> dict[str, float]:
        left = self._left.get(node.name)
        if left is None:
            left = free_room(self._cluster, node)
            self._left[node.name], self._whole[node.name] = left, dict(left)
        return left


def free_room(cluster: Cluster, node: Node, but_for: str = "") -> dict[str, float]:
    """What the node offers to pods less what those on it ask for; pods of the VMI with the uid `but_for` do not count.
    The cluster keeps NODE.
    """
    left = dict(node.allocatable)
    on_it = (each for each in cluster.sharing(NODE, node.name) if isinstance(each, Pod))
    for pod in (each for each in on_it if each.node == node.name and not (but_for and each.vmi_uid == but_for)):
        left["pods"] = left.get("pods", 0.0) - 1
        for name, amount in pod.requests:
            left[name] = left.get(name, 0.0) - amount
    return left


_KINDS = (
    ("taint ", "Taint"),
    ("node affinity", "Selector"),
    ("without label ", "Selector"),
    ("with pods ", "AntiAffinity"),
    ("without pods ", "PodAffinity"),
    ("without access ", "Volume"),
    ("cordoned", "Cordoned"),
)


def _kind(reason: str) -> str:
    return next((kind for begins, kind in _KINDS if reason.startswith(begins)), "Other")


def kind_of_lack(resource: str) -> str:
    """What can be done about a node that lacks it: Resource of those that every node has, else Device."""
    plain = resource in ("cpu", "memory", "ephemeral-storage", "pods") or resource.startswith("hugepages-")
    return "Resource" if plain else "Device"


def _worded(obstacle: str) -> str:
    kind, _, what = obstacle.partition("node selector ")
    return obstacle if kind or not what else f"without label {what}"


def short_of(needed: Mapping[str, float], free: Mapping[str, float]) -> str:
    """The first resource that is short; those that every pod takes come first."""
    short = [name for name, amount in needed.items() if amount > 0 and amount > free.get(name, 0.0) * (1 + 1e-9) + 1e-9]
    return min(short, key=lambda name: (name not in ("memory", "cpu"), name != "memory", name), default="")


def amount_written(resource: str, amount: float) -> str:
    amount = max(amount, 0.0)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        size, unit = next(
            ((amount / size, unit) for size, unit in ((2**30, "GiB"), (2**20, "MiB")) if amount >= size),
            (amount, "bytes"),
        )
        return f"{round(size, 2):g} {unit}"
    return f"{round(amount, 2):g}"
