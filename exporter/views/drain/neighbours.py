"""Which nodes the affinity and anti-affinity of a VM to other pods rules out, as far as launcher pods show: the labels
of other pods are not kept.

Pods on nodes that are drained do not count: they leave too, and count where they were placed by the plan.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...domain.features.neighbours import Neighbours, NeighbourTerm
from ...store.cluster import Cluster
from ...store.kinds.node import Node
from ...store.kinds.pod import DrainRole, Pod

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
