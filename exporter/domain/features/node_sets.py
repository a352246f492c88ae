"""Which of all nodes could take a launcher pod, and what rules out the others.

A set of nodes is an integer with a bit for each. Of a label, a taint or a resource it is made once, in one pass over
the nodes, and every pod that asks for it is answered with that: a question costs what the pod asks for.

Not considered: free room, pod affinity, topology spread constraints, and node affinity of volumes. Where the scheduler
has more against a node than this, nothing is said; where it has less, that is an error.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

import msgspec

from ...facts.placement import Placement, Taint
from ...facts.selector import Requirement
from ...store.kinds.node import CORDON, Node
from ..drains.eviction import cordoned

SCHEDULABLE = "kubevirt.io/schedulable"
"""A label of virt-handler's heartbeat: without its value `true` KubeVirt puts nothing there."""
UNSCHEDULABLE = f"without label {SCHEDULABLE}=true"
"""What `closed` says of a node without it."""

_CORDON = Taint(CORDON, "", "NoSchedule")
_CORDONED = "cordoned"
_NAME = "metadata.name"  # by which terms ask for a node's name
_NAMED = 6  # conditions in a text
_MOST_RULINGS = 20_000  # that are kept until a node changes: placements come and go

# How labels of KubeVirt's node-labeller begin.
CPU_FEATURE, CPU_TO_MIGRATE = "cpu-feature.node.kubevirt.io/", "cpu-model-migration.node.kubevirt.io/"
_HOST_MODEL, _FEATURES = "host-model-cpu.node.kubevirt.io/", "host-model-required-features.node.kubevirt.io/"
_VENDOR = "cpu-vendor.node.kubevirt.io/"


def closed(node: Node) -> str:
    """What keeps every VM off it, in a few words; a pod may tolerate that it is cordoned."""
    if node.deleting is not None:
        return "being deleted"
    if cordoned(node):
        return _CORDONED
    if not node.ready:
        return "not Ready"
    return "" if _value(node, SCHEDULABLE) == "true" else UNSCHEDULABLE


class NodeDemand(msgspec.Struct, frozen=True, gc=False):
    """What a launcher pod asks of its node; `resources` are those of which a node has to have any."""

    placement: Placement
    resources: tuple[str, ...] = ()
    tolerated: tuple[Taint, ...] = ()  # beside those of its tolerations


class Moving(msgspec.Struct, frozen=True, gc=False):
    """What a live migration asks for beside: the CPU of the node that is left, by its model or its vendor."""

    host_model: bool = False
    vendor: bool = False


class Ruling(msgspec.Struct, frozen=True):
    """The nodes that could take it, and how many each condition rules out: of several the first that a node fails."""

    fitting: int
    ruled_out: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """Such as `3 without label zone=b, 1 with taint gpu:NoSchedule`."""
        named = sorted(self.ruled_out, key=lambda each: -each[1])
        rest = sum(count for _, count in named[_NAMED:])
        texts = [f"{count} {condition}" for condition, count in named[:_NAMED]]
        return ", ".join([*texts, f"{rest} for other reasons"] if rest else texts)


class NodeSets:
    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = tuple(sorted(nodes, key=lambda node: node.name))
        self._all = (1 << len(self.nodes)) - 1
        self._rulings: dict[NodeDemand, Ruling] = {}
        self._values: dict[str, dict[str, int]] = {}  # of a label: the nodes that have each of its values
        self._resources: dict[str, int] = {}
        self._leaving: dict[Moving, dict[tuple[Requirement, ...], int]] = {}

    @cached_property
    def taking(self) -> int:
        """The nodes that take launcher pods."""
        return self._all & ~sum(self._closed.values())

    def one(self, name: str) -> int:
        """The set of one node, by its name; empty where it is not there."""
        at = bisect_left(self.nodes, name, key=lambda node: node.name)
        return 1 << at if at < len(self.nodes) and self.nodes[at].name == name else 0

    def node(self, name: str) -> Node | None:
        found = self.one(name)
        return self.nodes[found.bit_length() - 1] if found else None

    def ruling(self, asked: NodeDemand) -> Ruling:
        found = self._rulings.get(asked)
        if found is None:
            if len(self._rulings) >= _MOST_RULINGS:
                self._rulings.clear()
            found = self._rulings[asked] = self._ruled(asked)
        return found

    def suits(self, asked: NodeDemand) -> int:
        """The nodes that meet all that it asks for, be they closed for now or not."""
        found = self._all
        for _, passing in self._conditions(asked):
            found &= passing
        return found

    def without(self, asked: NodeDemand, excluded: int) -> Ruling:
        """The same of all nodes but some."""
        return self._ruled(asked, self._all & ~excluded)

    def stuck(self, asked: NodeDemand, moving: Moving) -> int:
        """The nodes that a VMI can't be migrated away from, since no other one could take it."""
        fitting = self.ruling(asked).fitting
        found = 0
        for wanted, leaving in self._left(moving).items():
            able = fitting
            for each in wanted:
                able &= self._holding(each)
            if not able:
                found |= leaving
            elif not able & (able - 1):  # a single one: only for a VMI that is there already is it none
                found |= leaving & able
        return found

    def moved(self, asked: NodeDemand, moving: Moving, name: str) -> NodeDemand:
        """What the pod asks for that a VMI on a node would be migrated into."""
        node = self.node(name)
        more = cpu_of_node(node, moving) if node is not None else ()
        placement = msgspec.structs.replace(asked.placement, selector=asked.placement.selector + more)
        return msgspec.structs.replace(asked, placement=placement) if more else asked

    def _ruled(self, asked: NodeDemand, among: int | None = None) -> Ruling:
        left = self._all if among is None else among
        counts: dict[str, int] = {}
        for condition, passing in (*self._open(asked), *self._conditions(asked)):
            if out := left & ~passing:
                counts[condition] = counts.get(condition, 0) + out.bit_count()
                left &= passing
            if not left:
                break
        return Ruling(left, tuple(counts.items()))

    def _open(self, asked: NodeDemand) -> Iterator[tuple[str, int]]:
        tolerant = asked.placement.tolerates(_CORDON)
        return ((why, ~nodes) for why, nodes in self._closed.items() if not (tolerant and why == _CORDONED))

    def _conditions(self, asked: NodeDemand) -> Iterator[tuple[str, int]]:
        """Each with the nodes that meet it."""
        placement = asked.placement
        for taint, nodes in self._tainted.items():
            if not placement.tolerates(taint) and taint not in asked.tolerated and not _extended(taint, asked):
                yield f"with taint {taint}", ~nodes
        for requirement in placement.selector:
            absent = requirement.operator == "DoesNotExist"
            yield f"with{'' if absent else 'out'} label {str(requirement).lstrip('!')}", self._holding(requirement)
        if placement.terms:
            able = 0
            for term in placement.terms:
                able |= self._meeting(term)
            yield "outside the node affinity", able
        for resource in asked.resources:
            yield f"without resource {resource}", self._offering(resource)

    @cached_property
    def _closed(self) -> dict[str, int]:
        """Disjoint sets, by what keeps VMs off these nodes."""
        found: dict[str, int] = {}
        for at, node in enumerate(self.nodes):
            if words := closed(node):
                found[words] = found.get(words, 0) | 1 << at
        return found

    @cached_property
    def _tainted(self) -> dict[Taint, int]:
        found: dict[Taint, int] = {}
        for at, node in enumerate(self.nodes):
            for taint in node.taints:
                if taint.effect != "PreferNoSchedule" and taint.key != CORDON:
                    plain = Taint(taint.key, taint.value, taint.effect)
                    found[plain] = found.get(plain, 0) | 1 << at
        return found

    def _meeting(self, term: tuple[Requirement, ...]) -> int:
        able = self._all if term else 0
        for requirement in term:
            able &= self._holding(requirement)
        return able

    def _holding(self, requirement: Requirement) -> int:
        values = self._having(requirement.key)
        if requirement.operator in ("In", "NotIn"):
            found = 0
            for value in requirement.values:
                found |= values.get(value, 0)
            return found if requirement.operator == "In" else self._all & ~found
        if requirement.operator == "DoesNotExist":
            return self._all & ~sum(values.values())
        return sum(nodes for value, nodes in values.items() if requirement.holds({requirement.key: value}))

    def _having(self, label: str) -> dict[str, int]:
        """Disjoint sets, by the value."""
        found = self._values.get(label)
        if found is None:
            found = self._values[label] = {}
            for at, node in enumerate(self.nodes):
                value = node.name if label == _NAME else _value(node, label)
                if value is not None:
                    found[value] = found.get(value, 0) | 1 << at
        return found

    def _offering(self, resource: str) -> int:
        if resource not in self._resources:
            self._resources[resource] = sum(
                1 << at
                for at, node in enumerate(self.nodes)
                if any(name == resource and amount > 0 for name, amount in node.allocatable)
            )
        return self._resources[resource]

    def _left(self, moving: Moving) -> dict[tuple[Requirement, ...], int]:
        """The nodes that may be left, by what is asked of the next one."""
        found = self._leaving.get(moving)
        if found is None:
            found = self._leaving[moving] = {}
            for at, node in enumerate(self.nodes):
                wanted = cpu_of_node(node, moving)
                found[wanted] = found.get(wanted, 0) | 1 << at
        return found


def _extended(taint: Taint, asked: NodeDemand) -> bool:
    """Whether the plugin ExtendedResourceToleration, where it is on, adds a toleration of it."""
    return taint.effect == "NoSchedule" and taint.key in asked.resources


def _value(node: Node, label: str) -> str | None:
    at = bisect_left(node.label_pairs, (label, ""))
    found = node.label_pairs[at] if at < len(node.label_pairs) else ("", "")
    return found[1] if found[0] == label else None


def _beginning(node: Node, prefix: str) -> Iterator[tuple[str, str]]:
    """The rest of each label that begins so, with its value."""
    for at in range(bisect_left(node.label_pairs, (prefix, "")), len(node.label_pairs)):
        key, value = node.label_pairs[at]
        if not key.startswith(prefix):
            return
        yield key.removeprefix(prefix), value


def cpu_of_node(node: Node, moving: Moving) -> tuple[Requirement, ...]:
    """What KubeVirt has the target offer of this node's CPU (prepareNodeSelectorForHostCpuModel)."""
    found: list[Requirement] = []
    if moving.host_model:
        for model, value in _beginning(node, _HOST_MODEL):
            found.append(Requirement(CPU_TO_MIGRATE + model, "In", (value,)))
        if found:  # without a model the migration fails for another reason
            found += [Requirement(CPU_FEATURE + name, "In", (value,)) for name, value in _beginning(node, _FEATURES)]
    if moving.vendor:
        found += [Requirement(_VENDOR + name, "In", ("true",)) for name, _ in _beginning(node, _VENDOR)]
    return tuple(found)
