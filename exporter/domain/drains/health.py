"""Whether a node can let its VMIs go at all: that comes before what any of them asks for.

Nothing is migrated without its source: virt-handler there hands the guest over, and a migration waits for it without an
end (`departure.hanging`). Of a node that is not Ready nobody knows whether the guests run, and none of its pods ends
before the node is back or is gone (`lost`). Where virt-handler gives no sign, by the label that it renews once a
minute, the pods of the node can be ended, but nothing is migrated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ...store.kinds.node import Node
from ...store.text.naming import sentence, subject_first
from ..acts import Act
from ..features.node_sets import SCHEDULABLE
from .departure import REMEDIES, Departure, DrainState

_LOST, _UNHEARD = "NodeLost", "NodeUnheard"
AILMENTS = (_LOST, _UNHEARD)
"""The reasons of findings on a node by which no VMI on it is fine, whatever else is said of that."""

_OFF = frozenset((Act.MIGRATE, Act.DRAIN))
_MIGRATES = (DrainState.WAITING, DrainState.MAY_MIGRATE)
_STAY = {_LOST: (*_MIGRATES, DrainState.UNKNOWN, DrainState.SHUTS_DOWN, DrainState.EXTERNAL), _UNHEARD: _MIGRATES}


class Ailment(NamedTuple):
    """`reason` is one of AILMENTS, `why` a clause about the node."""

    reason: str
    why: str


def unheard(node: Node) -> bool:
    """Whether virt-handler has labelled it, and does so no more."""
    labels = [value for key, value in node.label_pairs if key == SCHEDULABLE]
    return bool(labels) and labels != ["true"]


def ailment(node: Node | None) -> Ailment | None:
    """None of a node that can let its VMIs go, and of one that is not seen."""
    if node is None:
        return None
    if not node.ready:
        return Ailment(_LOST, f"node {node.name} is not Ready: none of its VMIs is migrated, and none of its pods ends")
    if unheard(node):
        what = f"virt-handler on node {node.name} gives no sign: a migration off it would wait for that without an end"
        return Ailment(_UNHEARD, what)
    return None


def treated(found: Departure, node: Node | None) -> Departure:
    """A departure with a next step about its node, where its own one would move the VMI off one that lets none go."""
    ails = ailment(node)
    if ails is None or node is None or found.vmi is None or found.vmi.node != node.name:
        return found
    also = tuple(treated(each, node) for each in found.also)
    if _OFF.isdisjoint(found.remedy.does):
        return replace(found, also=also) if also else found
    return replace(found, also=also, remedy=REMEDIES[ails.reason], values={**found.values, "NODE": node.name})


def grounded(found: Departure, node: Node | None) -> Departure:
    """The same; and one that the state of its node keeps from being is none: the VMI stays. What is found of a VMI that
    is asked to leave stays said.
    """
    ails = ailment(node)
    made = treated(found, node)
    if ails is None or node is None or made.vmi is None or made.vmi.node != node.name:
        return found
    if made.state not in _STAY[ails.reason]:
        return made
    if made.due and made.reason:
        return replace(made, state=DrainState.BLOCKED)
    why = sentence(subject_first("VirtualMachineInstance", ails.why))
    values = {**made.values, "NODE": node.name}
    remedy = REMEDIES[ails.reason]
    return replace(made, state=DrainState.BLOCKED, reason=ails.reason, why=why, remedy=remedy, values=values, to="")
