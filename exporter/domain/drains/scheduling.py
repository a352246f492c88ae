"""What the scheduler says of a pod that finds no node, taken apart: how many nodes each condition rules out.

The form is that of `FitError.Error` in pkg/scheduler/framework/types.go of kubernetes/kubernetes: `0/5 nodes are
available: 3 Insufficient memory, 2 node(s) were unschedulable. preemption: …`. A node is counted under the first
condition that rules it out, by more than one resource under each of them.
"""

from __future__ import annotations

from typing import NamedTuple

_AFTER = "nodes are available:"
_MOST = 10
_DIGITS = 7  # no cluster has more nodes

# By which word of a condition one knows what can be done about it.
_KINDS = (
    ("Volume", ("volume", "pvc", "csinode", "storage")),
    ("AntiAffinity", ("anti-affinity",)),
    ("PodAffinity", ("match pod affinity",)),
    ("Spread", ("topology spread",)),
    ("Selector", ("node affinity", "node selector")),
    ("Taint", ("taint",)),
    ("Cordoned", ("were unschedulable", "was unschedulable")),
)
_INSUFFICIENT = "Insufficient "
_PLAIN = ("cpu", "memory", "ephemeral-storage")


class RuledOut(NamedTuple):
    nodes: int
    condition: str

    @property
    def kind(self) -> str:
        """Device and Resource for what nodes lack; Other for what is not known."""
        if self.condition.startswith(_INSUFFICIENT):
            what = self.lacking
            return "Resource" if what in _PLAIN or what.startswith("hugepages-") else "Device"
        lower = self.condition.lower()
        return next((kind for kind, words in _KINDS if any(word in lower for word in words)), "Other")

    @property
    def lacking(self) -> str:
        """The resource that is short; empty for any other condition."""
        return self.condition.removeprefix(_INSUFFICIENT) if self.condition.startswith(_INSUFFICIENT) else ""


def ruled_out(message: str) -> tuple[RuledOut, ...]:
    """What rules out most nodes first; none where the message has another form."""
    _, _, rest = message.partition(_AFTER)
    found: list[RuledOut] = []
    for part in rest.partition("preemption:")[0].split(", "):
        count, _, condition = part.strip().partition(" ")
        if count.isdecimal() and len(count) <= _DIGITS and condition:
            found.append(RuledOut(int(count), condition.partition(". ")[0].rstrip(". ")))
        if len(found) == _MOST:
            break
    return tuple(sorted(found, key=lambda each: -each.nodes))


def hindrance(message: str) -> RuledOut | None:
    """What stands in the way of the target of a migration first: the node that it comes from does not count, which
    KubeVirt's own anti-affinity rules out, or the cordon of a drain before it.
    """
    found = list(ruled_out(message))
    for kind in ("AntiAffinity", "Cordoned"):
        at = next((at for at, each in enumerate(found) if each.kind == kind), None)
        if at is not None:
            found[at] = RuledOut(found[at].nodes - 1, found[at].condition)
            break
    return max((each for each in found if each.nodes > 0), key=lambda each: each.nodes, default=None)
