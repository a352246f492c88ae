"""The evaluation of all that a launcher pod asks of its node: which nodes could take it, and what rules out the others.

A VMI that runs may have a pod that tolerates more than its spec says: the taints of its own node count as tolerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ....domain.acts import Act
from ....domain.drains.eviction import strategy_of
from ....domain.features.configuration import Effective, chosen
from ....domain.features.indexes import LETS, NEEDED, Need, needs
from ....domain.features.node_sets import CPU_FEATURE, SCHEDULABLE, Moving, NodeDemand, NodeSets, Ruling
from ....domain.features.requests import demanded_by, requests_of
from ....facts.demand import NOTHING, Demand
from ....facts.placement import Placement, Taint
from ....facts.record import Record, UnansweredError
from ....facts.selector import Requirement
from ....facts.text_cache import remembered
from ....facts.versions import Version
from ....findings.advice import with_commands
from ....findings.check import View
from ....findings.finding import Finding
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import CORDON, Node
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from .evaluation import NATIVE, REASONS, TEXTS, held_up, may_migrate, offerers, related, state, things_of

# What the launcher pod of a VM or VMI asks of its node, as pkg/virt-controller/services of kubevirt/kubevirt makes it.
#
# Its node selector is that of the cluster's configuration, the spec's over it, and what features ask for over both.

_ARCHITECTURE = "kubernetes.io/arch"
_LABEL, _RESOURCE = "label ", "resource "
_CROSSED = "label kubevirt.io/vm-arch-"
_SEV, _WITH_VALUES = "kubevirt.io/sev", (1, 6)  # before, the labels of SEV had no value
_REALTIME = "kubevirt.io/realtime"
_OBSOLETE = "node-labeller.kubevirt.io/obsolete-host-model"


def pod_of(demand: Demand, things: tuple[str, ...], known: Effective, of_vm: bool) -> NodeDemand | None:
    """None where nobody knows what its placement comes to. Of a VM it is what its VMI will ask for, which gets the
    cluster's architecture and CPU model where it names none.
    """
    if demand.placement is None:
        return None
    configured = tuple(sorted(known.node_selectors.items()))
    architecture = _architecture(known, things, of_vm)
    model = demand.model or (_default_model(known, things) if of_vm else "host-model")
    return _pod(demand, things, configured, architecture, model, known.version.release < _WITH_VALUES)


def _architecture(known: Effective, things: tuple[str, ...], of_vm: bool) -> str | None:
    """The cluster's, which a VM gets that names none. None where architectures are crossed: KubeVirt then takes the
    label of the node's own out of the selector, whoever put it there.
    """
    if known.on("CrossArchitectureVirtualization") and (of_vm or any(each.startswith(_CROSSED) for each in things)):
        return None
    return known.default_architecture if of_vm else ""


def _default_model(known: Effective, things: tuple[str, ...]) -> str:
    """Empty where it depends on the architecture, and that is not known."""
    if known.cpu_model:
        return known.cpu_model
    native = next((thing.removeprefix(NATIVE) for thing in things if thing.startswith(NATIVE)), "")
    return "host-model" if (native or known.default_architecture) == "amd64" else ""


@remembered(20_000)
def _pod(
    demand: Demand,
    things: tuple[str, ...],
    configured: tuple[tuple[str, str], ...],
    architecture: str | None,
    model: str,
    bare: bool,
) -> NodeDemand | None:
    placement = demand.placement
    if placement is None:
        return None
    labels = [thing.removeprefix(_LABEL).rpartition("=") for thing in things if thing.startswith(_LABEL)]
    native = next((value for key, _, value in labels if key == _ARCHITECTURE), (architecture or "").lower())
    chosen = {_ARCHITECTURE: Requirement(_ARCHITECTURE, "In", (native,))} if native else {}
    chosen |= {key: Requirement(key, "In", (value,)) for key, value in configured}
    chosen |= {each.key: each for each in placement.selector}
    if architecture is None:
        chosen.pop(_ARCHITECTURE, None)
    for key, _, value in labels:
        if key != _ARCHITECTURE:
            chosen[key] = Requirement(key, "In", (value, "") if bare and key.startswith(_SEV) else (value,))
    wanted = [f"{CPU_FEATURE}{name}" for name in demand.features] + ([_REALTIME] if demand.realtime else [])
    chosen |= {key: Requirement(key, "In", ("true",)) for key in wanted}
    chosen.pop(SCHEDULABLE, None)  # whether a node takes launcher pods at all
    rejected = [f"{CPU_FEATURE}{name}" for name in demand.forbidden] + ([_OBSOLETE] if model == "host-model" else [])
    absent = tuple(Requirement(key, "DoesNotExist") for key in rejected)
    # KubeVirt adds these to each term, and an empty one, which matches nothing, is none any more.
    open_end = any(not term for term in placement.terms) and (bool(absent) or not model)
    return NodeDemand(
        Placement((*chosen.values(), *absent), () if open_end else placement.terms, placement.tolerations),
        tuple(thing.removeprefix(_RESOURCE) for thing in things if thing.startswith(_RESOURCE)),
    )


_FEATURE = "placement"
_CORDON, _RESTART = "kubectl cordon NODE", "virtctl restart -n NAMESPACE VMNAME"
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
    home, fresh = nodes.node(record.node) if runs else None, pod
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
    found = _finding(ground, record, nodes.without(nodes.moved(pod, moving, record.node), own), stuck=True)
    return _restarting(found, home) if nodes.ruling(fresh).fitting & ~own and record.vm_uid else found


def _restarting(found: Finding, home: Node | None) -> Finding:
    """Of a VMI that only a migration keeps where it is, by the CPU that its guest has: a restart gives it another, and
    on another node if its own is cordoned.
    """
    closed = home is not None and home.unschedulable
    step = TEXTS.next_if_short(found.reason, "closed" if closed else "restart", node=found.node)
    if not step:
        return found
    found = msgspec.structs.replace(found, next=step, does=(Act.RESTART,))
    return with_commands(found, (*REASONS[found.reason].commands, *(() if closed else (_CORDON,)), _RESTART))


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
        message=_message(ground, reason, record, ruling),
        node=vmi.node if vmi is not None else "",
        feature=_FEATURE,
        group=_FEATURE,
        evidence={name: fact for name, fact in facts.items() if fact},
    )


def _message(ground: _Ground, reason: str, record: VirtualMachine | VirtualMachineInstance, ruling: Ruling) -> str:
    why = str(ruling) if sum(count for _, count in ruling.ruled_out) > 1 else ruling.ruled_out[0][0]
    return TEXTS.message(reason, _variant(ground, reason, record), why=why)


def _variant(ground: _Ground, reason: str, record: VirtualMachine | VirtualMachineInstance) -> str:
    if not isinstance(record, VirtualMachineInstance):
        return "placed"
    if reason == "NoNodeSupports":
        return f"placed_{held_up(record)}"
    hangs = strategy_of(record, ground.kubevirt) in ("LiveMigrate", "LiveMigrateIfPossible")
    return "placed_hangs" if hangs else "placed"
