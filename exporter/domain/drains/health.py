"""Whether a node can let its VMIs go at all: that comes before what any of them asks for.

Nothing is migrated without its source: virt-handler there hands the guest over, and a migration waits for it without an
end (`departure.hanging`). Of a node that is not Ready nobody knows whether the guests run, and none of its pods ends
before the node is back or is gone (`lost`). Where virt-handler gives no sign, by the label that it renews once a
minute, the pods of the node can be ended, but nothing is migrated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ...facts.naming import sentence, subject_first
from ...store.kinds.node import Node
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
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
        return Ailment(_LOST, f"node {node.name} is not Ready, so none of its VMIs migrates and none of its pods ends")
    if unheard(node):
        what = f"virt-handler on node {node.name} sends no heartbeat, so a migration off the node would hang"
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


# What happens to VMIs whose node is not Ready any more, and when.
#
# Kubernetes taints such a node, and deletes each pod once it does not tolerate the taint any longer, after five minutes
# where the pod says nothing else (pkg/controller/tainteviction and plugin/pkg/admission/defaulttolerationseconds of
# kubernetes/kubernetes). That is no eviction: KubeVirt's webhook is not asked, no PDB counts, and the eviction strategy
# of a VMI makes no difference; nor is anything migrated without its source. The pod is gone once the kubelet has ended
# it, or the node is deleted or tainted as out of service (pkg/controller/podgc). KubeVirt then sets the VMI to Failed
# (pkg/virt-controller/watch/vmi/lifecycle.go of kubevirt/kubevirt), and its run strategy says whether it is started
# again (pkg/virt-controller/watch/vm/vm.go).

_CONDITIONS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
_STARTS = ("Always", "RerunOnFailure")
_REPLACED = "VirtualMachineInstanceReplicaSet "


class Deletion(NamedTuple):
    """`first` is when Kubernetes deletes the first of the pods, in seconds since 1970, None where that is not known;
    `never` is how many of them it leaves where they are.
    """

    first: float | None
    never: int


def deletion(node: Node, pods: Iterable[Pod]) -> Deletion:
    """Of pods that are not being deleted."""
    times = [_deleted_at(node, pod) for pod in pods]
    known = [each for each in times if each is not None]
    return Deletion(min((each for each in known if each != _NEVER), default=None), known.count(_NEVER))


_NEVER = float("inf")


def _deleted_at(node: Node, pod: Pod) -> float | None:
    """None where no taint with its time says so."""
    found = []
    for taint in node.taints:
        if taint.key not in _CONDITIONS or taint.effect != "NoExecute" or taint.added is None:
            continue
        tolerated = [each for each in pod.placement.tolerations if each.covers(taint)]
        ends = [each.seconds for each in tolerated if each.seconds is not None]
        lasts = max(min(ends), 0) if ends else _NEVER if tolerated else 0.0
        found.append(taint.added + lasts)
    return min(found, default=None)


def stays_down(vmi: VirtualMachineInstance, vm: VirtualMachine | None) -> str:
    """Why nobody starts it again once its pod is gone, in words; empty where somebody does."""
    if vm is None or not vmi.vm_uid:
        return "" if vmi.owner.startswith(_REPLACED) else "no VM"
    if vm.deleting is not None:
        return "its VM is being deleted"
    return "" if vm.run_strategy in _STARTS else f"run strategy {vm.run_strategy or 'unknown'}"
