"""Which node a pod goes to: the part of a scheduler's rules that KubeVirt's pods make use of.

Counted are cordons, taints, node selectors, required affinity to nodes, required anti-affinity to pods of a node, and
what containers request. Not counted: preferences, affinity to pods, namespaces and topologies of anti-affinity, what
initial containers request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from exporter.facts.quantity import amounts_of, plus
from tests.kubevirt.orders import World, launched
from tests.manifests import Object

__all__ = ["place", "refusal"]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_ORDERED = "Insufficient memory"
TARGET = "kubevirt.io/migrationJobUID"  # a label of pods that a migration goes to


def place(pod: Object, world: World) -> str | None:
    """The node for it with the fewest pods; None if no node will do."""
    if TARGET in pod["metadata"].get("labels", {}) and launched(pod) in world.orders.unplaced:
        return None
    found = [name for name, node in world.alive.items() if not _why_not(pod, name, node, world)]
    return min(found, key=lambda name: (sum(1 for _ in _pods_on(name, world)), name), default=None)


def refusal(pod: Object, world: World) -> str:
    """What the scheduler says of a pod that no node takes; what is ordered is said to be a lack of memory."""
    alive = world.alive.items()
    why = Counter(each for name, node in alive for each in _why_not(pod, name, node, world) or [_ORDERED])
    counted = ", ".join(f"{count} {each}" for each, count in sorted(why.items()))
    return f"0/{len(world.nodes)} nodes are available: {counted}. preemption: none."


def _why_not(pod: Object, name: str, node: Object, world: World) -> list[str]:
    """The first condition that the node does not meet, or each resource that it lacks."""
    if node["spec"].get("unschedulable"):
        return ["node(s) were unschedulable"]
    if not _fits(pod, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    if _repelled(pod, name, world):
        return ["node(s) didn't match pod anti-affinity rules"]
    return [f"Insufficient {each}" for each in _lacking(pod, name, node, world)]


def _lacking(pod: Object, name: str, node: Object, world: World) -> list[str]:
    taken = dict(plus(*(_requests(each) for each in _pods_on(name, world))))
    offered = dict(amounts_of(node.get("status", {}).get("allocatable")))
    asked = ((each, amount) for each, amount in _requests(pod) if amount > 0)
    return [each for each, amount in asked if taken.get(each, 0.0) + amount > offered.get(each, 0.0)]


def _requests(pod: Object) -> Any:
    containers = pod["spec"].get("containers", ())
    return plus(*(amounts_of((each.get("resources") or {}).get("requests")) for each in containers))


def _pods_on(node: str, world: World) -> Iterable[Object]:
    """Those that have not ended."""
    here = (pod for pod in world.pods if pod["spec"].get("nodeName") == node)
    return (pod for pod in here if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"))


def _fits(pod: Object, node: Object) -> bool:
    spec, labels = pod["spec"], node["metadata"].get("labels", {})
    selected = all(labels.get(name) == value for name, value in (spec.get("nodeSelector") or {}).items())
    tolerated = all(_tolerates(spec.get("tolerations") or (), taint) for taint in node["spec"].get("taints") or ())
    terms = _affinity(pod, "nodeAffinity").get("nodeSelectorTerms")
    return selected and tolerated and (not terms or any(_term(term, node) for term in terms))


def _affinity(pod: Object, kind: str) -> Any:
    affinity = pod["spec"].get("affinity") or {}
    return (affinity.get(kind) or {}).get(REQUIRED) or {}


def _term(term: Object, node: Object) -> bool:
    fields = {"metadata.name": node["metadata"]["name"]}
    return _all(term.get("matchExpressions"), node["metadata"].get("labels", {})) and _all(
        term.get("matchFields"), fields
    )


def _all(expressions: Iterable[Object] | None, labels: Mapping[str, str]) -> bool:
    return all(_matches(each, labels) for each in expressions or ())


def _matches(expression: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case other:
            raise NotImplementedError(f"operator {other} of a selector")


def _tolerates(tolerations: Iterable[Object], taint: Object) -> bool:
    """A cordon is a taint too: the control plane adds it."""
    if taint["effect"] == "PreferNoSchedule":
        return True
    return any(
        each.get("key") in (None, "", taint["key"])
        and each.get("effect") in (None, "", taint["effect"])
        and (each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""))
        for each in tolerations
    )


def _repelled(pod: Object, node: str, world: World) -> bool:
    """Whether a pod is there that this one must not be with."""
    selectors = [term["labelSelector"] for term in _affinity(pod, "podAntiAffinity") or ()]
    return any(
        _all(selector.get("matchExpressions"), labels)
        and all(labels.get(name) == value for name, value in selector.get("matchLabels", {}).items())
        for other in _pods_on(node, world)
        for labels in [other["metadata"].get("labels", {})]
        for selector in selectors
    )
