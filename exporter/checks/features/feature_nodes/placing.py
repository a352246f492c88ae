"""The evaluation of all that a launcher pod asks of its node: which nodes could take it, and what rules out the others.

A VMI that runs may have a pod that tolerates more than its spec says: the taints of its own node count as tolerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....domain.drains.eviction import strategy_of
from ....domain.features.configuration import Effective, chosen
from ....domain.features.demand import NOTHING, Demand
from ....domain.features.node_sets import Moving, NodeDemand, NodeSets, Ruling
from ....domain.features.placement import Taint
from ....domain.features.requests import demanded_by, requests_of
from ....domain.features.versions import Version
from ....findings.check import View
from ....findings.finding import Finding
from ....store.indexes.features import LETS, NEEDED, Need, needs
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import CORDON, Node
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ....store.record import Record, UnansweredError
from .asking import may_migrate, offerers, related, state, then, things_of
from .pods import pod_of

_FEATURE = "placement"
# A target has the source's CPU vendor in 1.6 and in 1.7 from these on, and in all later releases.
_SAME_VENDOR = (Version(1, 6, 4), Version(1, 7, 1))
_NATURE = "node.kubernetes.io/"  # taints that say how the node is: that a pod is there does not mean it tolerates them


class _Want(NamedTuple):
    """What a VM or VMI asks of its node: beside features, and for features."""

    demand: Demand
    needed: tuple[Need, ...]
    of_vm: bool


class _Ground(NamedTuple):
    view: View
    kubevirt: KubeVirt
    known: Effective
    nodes: NodeSets


def unplaced(view: View) -> Iterator[Finding]:
    """Raises UnansweredError where nobody knows the configuration that decides."""
    if not view.whole:  # what was found of those that can't be seen stays
        tuple(view.sharing(NEEDED, view.partition))
    first = view.some(NEEDED, view.partition, 1)
    nodes = view.derived(LETS, "", lambda: NodeSets(each for each in view.sharing(LETS, "") if isinstance(each, Node)))
    if not first or not nodes.taking:
        return
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    if isinstance(kubevirt, str) or isinstance(known, str):
        raise UnansweredError(str(known))  # its node selectors may rule out any node
    ground = _Ground(view, kubevirt, known, nodes)
    want = _want(view, first[0], None)
    if all(_suited(ground, want._replace(of_vm=of_vm)) for of_vm in (True, False)):
        return
    things: dict[tuple[Need, ...], tuple[str, ...]] = {}
    for record in view.sharing(NEEDED, view.partition):
        want = _want(view, record, kubevirt)
        if want.needed not in things:
            things[want.needed] = things_of(view, want.needed, known)
        finding = _lacking(ground, record, _asked(ground, want, things[want.needed]), want.demand)
        if finding is not None and not _said_already(view, record, things[want.needed]):
            yield finding


def _want(view: View, record: Record, kubevirt: KubeVirt | None) -> _Want:
    if isinstance(record, VirtualMachine):
        asks = requests_of(record, view.named, kubevirt)
        return _Want(demanded_by(record, view.named, kubevirt), needs(asks), of_vm=True)
    if isinstance(record, VirtualMachineInstance):
        return _Want(record.demand, needs(record.asks, record.emulated), of_vm=False)
    return _Want(NOTHING, (), of_vm=False)


def _asked(ground: _Ground, want: _Want, things: tuple[str, ...]) -> NodeDemand | None:
    return pod_of(want.demand, things, ground.known, want.of_vm)


def _suited(ground: _Ground, want: _Want) -> bool:
    """Whether there is nothing to say of any VM or VMI that asks for this, wherever it is."""
    pod = _asked(ground, want, things_of(ground.view, want.needed, ground.known))
    if pod is None:
        return True
    if not ground.nodes.ruling(pod).fitting:
        return False
    return want.of_vm or not ground.nodes.stuck(pod, _moving(ground, want.demand))


def _moving(ground: _Ground, demand: Demand, *, again: bool = False) -> Moving:
    """`again`: it was migrated before, and its pod says what CPU that fixed. So does a CPU feature that it requires:
    KubeVirt takes the pod's selector of one for the trace of a migration.
    """
    same_vendor = keeps_vendor(ground.known.version)
    return Moving(demand.model == "host-model" and not demand.features and not again, same_vendor)


def keeps_vendor(version: Version) -> bool:
    """Whether the target of a migration has to have a CPU of the source's vendor."""
    first = next((each for each in _SAME_VENDOR if each.release == version.release), _SAME_VENDOR[-1])
    return version >= first


def _lacking(ground: _Ground, record: Record, pod: NodeDemand | None, demand: Demand) -> Finding | None:
    nodes = ground.nodes
    if pod is None:
        return None
    if isinstance(record, VirtualMachine):
        ruling = nodes.ruling(pod)
        return None if ruling.fitting else _finding(ground, record, ruling, stuck=False)
    if not isinstance(record, VirtualMachineInstance):
        return None
    runs = bool(record.node) and record.phase not in PENDING
    home = nodes.node(record.node) if runs else None
    if home is not None:
        pod = _tolerating(pod, home)
    ruling = nodes.ruling(pod)
    own = nodes.one(record.node) if runs else 0
    if not ruling.fitting and not nodes.suits(pod) & own:
        return _finding(ground, record, ruling, stuck=False)
    moving = _moving(ground, demand, again=record.migration is not None)
    if not may_migrate(record) or not nodes.taking & ~own:
        return None
    if ruling.fitting and not nodes.stuck(pod, moving) & own:
        return None
    return _finding(ground, record, nodes.without(nodes.moved(pod, moving, record.node), own), stuck=True)


def _tolerating(pod: NodeDemand, home: Node) -> NodeDemand:
    """With the taints of the node that it runs on, which its pod may tolerate though its spec does not."""
    more = tuple(
        Taint(each.key, each.value, each.effect)
        for each in home.taints
        if each.key != CORDON and not each.key.startswith(_NATURE) and not pod.placement.tolerates(each)
    )
    return NodeDemand(pod.placement, pod.resources, more) if more else pod


def _said_already(view: View, record: Record, things: tuple[str, ...]) -> bool:
    """Whether one thing alone is what no node offers, or none but its own: that is a finding of its own."""
    node = record.node if isinstance(record, VirtualMachineInstance) and may_migrate(record) else ""
    return any(not found or (node and found == (node,)) for found in (offerers(view, thing) for thing in things))


def _finding(
    ground: _Ground, record: VirtualMachine | VirtualMachineInstance, ruling: Ruling, *, stuck: bool
) -> Finding:
    vmi = record if isinstance(record, VirtualMachineInstance) else None
    reason, severity = state(ground.view, record, stuck)
    facts = {"ruledOut": dict(ruling.ruled_out), "phase": vmi.phase if vmi is not None else ""}
    return Finding(
        reason=reason,
        severity=severity,
        subject=record.ref,
        related=related(ground.view, record),
        message=_message(ground, vmi, ruling, stuck=stuck),
        node=vmi.node if vmi is not None else "",
        feature=_FEATURE,
        group=_FEATURE,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


def _message(ground: _Ground, vmi: VirtualMachineInstance | None, ruling: Ruling, *, stuck: bool) -> str:
    count, other = sum(each for _, each in ruling.ruled_out), "other " if stuck else ""
    nodes = f"none of the {count} {other}nodes meets" if count > 1 else f"the only {other}node does not meet"
    why = str(ruling) if count > 1 else ruling.ruled_out[0][0]
    who = "VM" if vmi is None else "VMI"
    return f"The {who} asks for what {nodes} ({why}): {_outcome(ground, vmi) if stuck and vmi else then(vmi)}."


def _outcome(ground: _Ground, vmi: VirtualMachineInstance) -> str:
    """Of a VMI that only its own node could take."""
    hangs = strategy_of(vmi, ground.kubevirt) in ("LiveMigrate", "LiveMigrateIfPossible")
    return "its live migration will fail" + (", and a drain of its node will hang" if hangs else "")
