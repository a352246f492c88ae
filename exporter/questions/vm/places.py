"""Which nodes could take a VM, and of each of the others all that rules it out, as far as nodes and pods show: the
scheduler has the last word.

What rules out most nodes comes first, and the advice is about that. A node is counted under each condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from ...checks.features.feature_nodes.evaluation import things_of
from ...checks.features.feature_nodes.placing import keeps_vendor, pod_of
from ...domain.drains.departure import REMEDIES
from ...domain.drains.departure.remedies import Remedy
from ...domain.drains.eviction import current_pod
from ...domain.features.configuration import Effective
from ...domain.features.indexes import needs
from ...domain.features.node_sets import SCHEDULABLE, Moving, NodeDemand, NodeSets, closed
from ...domain.features.requests import demanded_by
from ...domain.instancetypes.resolving import contributions
from ...facts.placement import Placement, Taint
from ...facts.selector import Requirement
from ...facts.spec_facts import memory_asked
from ...findings.advice import next_step
from ...store.cluster import Cluster
from ...store.indexes.drains import PART
from ...store.indexes.networks import vm_key
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import CORDON, Node
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.source import unseen
from ..drain.room import (
    AFFINITY,
    Neighbourhood,
    amount_written,
    bindings,
    free_room,
    kind_of_lack,
    placement_on_moving,
    seen,
    unevaluated,
)
from .context import OneVM
from .report import NodeAnswer, NodeObstacle, Places

NOT_CONSIDERED = (
    "affinity of other pods to this one, and of this one to pods that are no VM's",
    "topology spread",
    "quotas",
)
_SLICE = 20  # nodes looked at between two looks at the event loop
_MOST_NODES = 200  # in an answer
_MOST_CONDITIONS = 10
_CORDON = Taint(CORDON, "", "NoSchedule")
_CPU = ("cpu-model", "cpu-feature.", "cpu-vendor.", "host-model", "hyperv.", "machine-type.", "node-labeller.")
_CLOSED = {"cordoned": "Cordoned", "not Ready": "NotReady", "being deleted": "Deleted"}
_LACKS, _NO_OFFER = "lacks ", "offers no "
_NODES = ("kubectl get nodes -o wide",)
_HANDLERS = ("kubectl get pods -A -l kubevirt.io=virt-handler -o wide", *_NODES)
_OWN = {
    "NotReady": Remedy("Bring back the nodes that are not Ready, or add a node.", _NODES),
    "Deleted": Remedy("Wait for the nodes that take the place of those being deleted, or add a node.", _NODES),
    "NotSchedulable": Remedy(
        "Find out why virt-handler does not report on these nodes: KubeVirt puts no VM there until it does.", _HANDLERS
    ),
    "NoDevice": Remedy(
        "Have the device plugin of RESOURCE checked on the nodes that should offer it, and virt-handler there.",
        _HANDLERS,
    ),
    "CPU": Remedy(
        "With its owner's consent, give the VM a CPU model and features that other nodes have, and restart it; of model"
        " host-model, a restart does. Or add a node with such a CPU.",
        ("kubectl get nodes --show-labels",),
    ),
    "Affinity": REMEDIES["NoTarget/Selector"],
    "Resource": Remedy("Free RESOURCE on another node, or add a node.", ("kubectl describe nodes",)),
}


@dataclass(frozen=True)
class PodWanted:
    """What a launcher pod asks of its node. `amounts` are at the least, and empty where they are not known. `tolerated`
    are taints beside those of its tolerations; `pvcs` are the PersistentVolumeClaims of its volumes, each by its
    namespace and its name; `pod` is the one by whose affinity its neighbours are looked for, and
    `but_for` the uid of the VMI whose pods take no room from it.
    """

    placement: Placement
    amounts: Mapping[str, float] = field(default_factory=dict)
    resources: tuple[str, ...] = ()
    tolerated: tuple[Taint, ...] = ()
    pvcs: tuple[tuple[str, str], ...] = ()
    pod: Pod | None = None
    but_for: str = ""
    not_considered: tuple[str, ...] = ()


def places(cluster: Cluster, wanted: PodWanted, but: frozenset[str] = frozenset()) -> Generator[None, None, Places]:
    """On all nodes `but` those. Stops after every few nodes, so that others get their turn."""
    pods = not unseen(cluster, (Pod,))
    left_out = () if pods else ("how much room there is on a node, and affinity to other VMs: no pods can be seen",)
    wanted = wanted if pods else replace(wanted, pod=None)
    nodes = sorted((each for each in cluster.all(Node) if each.name not in but), key=lambda each: each.name)
    near = _neighbours(cluster, wanted.pod, nodes)
    bound = [each for namespace, name in wanted.pvcs for each in bindings(cluster, namespace, (name,))]
    offered = {name for node in cluster.all(Node) for name, amount in node.allocatable if amount > 0}
    answers: list[NodeAnswer] = []
    for at, node in enumerate(nodes):
        obstacles = list(_obstacles(node, wanted))
        if near.get(node.name):
            obstacles.append(_neighbour(near[node.name]))
        obstacles += _without_access(node, bound)
        free = free_room(cluster, node, wanted.but_for) if pods else dict(node.allocatable)
        obstacles += _lacking(node, free, wanted, offered, pods=pods)
        answers.append(_answer(node, wanted, obstacles))
        if at % _SLICE == _SLICE - 1:
            yield
    unknown = unevaluated(wanted.pod.neighbours) if wanted.pod is not None else []
    unknown += [AFFINITY] if wanted.pvcs and not seen(cluster) else []
    return msgspec.structs.replace(_summed(answers, wanted, left_out), unless=" and ".join(unknown))


def _answer(node: Node, wanted: PodWanted, obstacles: list[NodeObstacle]) -> NodeAnswer:
    if obstacles or node.allocatable or not wanted.amounts:
        return NodeAnswer(node.name, "no" if obstacles else "yes", tuple(obstacles))
    return NodeAnswer(node.name, "unknown", (NodeObstacle("Resource", "does not say what it offers to pods"),))


def _summed(answers: list[NodeAnswer], wanted: PodWanted, left_out: tuple[str, ...]) -> Places:
    counts = Counter(each for answer in answers if answer.answer == "no" for each in _once(answer.obstacles))
    ordered = counts.most_common()
    kept = sorted(answers, key=lambda each: (("yes", "unknown", "no").index(each.answer), each.node))
    made = Places(
        fitting=sum(each.answer == "yes" for each in answers),
        in_all=len(answers),
        nodes=tuple(kept[:_MOST_NODES]),
        left_out=max(len(kept) - _MOST_NODES, 0),
        ruled_out=tuple((count, each.what) for each, count in ordered[:_MOST_CONDITIONS]),
        not_considered=(*NOT_CONSIDERED, *wanted.not_considered, *left_out),
    )
    return made if any(each.answer != "no" for each in answers) else _advised(made, ordered)


def _once(obstacles: Iterable[NodeObstacle]) -> Iterable[NodeObstacle]:
    """Without how much is free on each node, so that what they lack is one condition."""
    return dict.fromkeys(
        NodeObstacle(each.kind, each.what.partition(" (")[0]) if each.kind in ("Resource", "Device") else each
        for each in obstacles
    )


def _advised(made: Places, ordered: list[tuple[NodeObstacle, int]]) -> Places:
    if not ordered:
        return msgspec.structs.replace(made, next="Add a node that takes VMs.", commands=_NODES)
    first = ordered[0][0]
    remedy = _OWN.get(first.kind) or REMEDIES.get(f"NoTarget/{first.kind}") or REMEDIES["NoTarget"]
    resource = first.what.removeprefix(_LACKS).removeprefix(_NO_OFFER)
    return msgspec.structs.replace(made, next=next_step(remedy, {"RESOURCE": resource}), commands=remedy.commands)


# -- what rules out one node


def _obstacles(node: Node, wanted: PodWanted) -> Iterator[NodeObstacle]:
    placement, why = wanted.placement, closed(node)
    if why and not (why == "cordoned" and placement.tolerates(_CORDON)):
        yield NodeObstacle(_CLOSED.get(why, "NotSchedulable"), why)
    for taint in node.taints:
        if taint.key != CORDON and not _tolerated(taint, wanted):
            yield NodeObstacle("Taint", f"with taint {taint}")
    labels = node.labels
    for requirement in placement.selector:
        if requirement.key != SCHEDULABLE and not requirement.holds(labels):
            yield _selected(requirement)
    facts = {**labels, "metadata.name": node.name}
    if placement.terms and not any(t and all(each.holds(facts) for each in t) for t in placement.terms):
        yield NodeObstacle("Affinity", "outside the node affinity")


def _without_access(node: Node, bound: Iterable[tuple[str, Placement]]) -> Iterator[NodeObstacle]:
    for name, where in bound:
        if where.obstacle(node.name, node.labels, ()):
            yield NodeObstacle("Volume", f"without access to PVC {name}")


def _tolerated(taint: Taint, wanted: PodWanted) -> bool:
    plain = Taint(taint.key, taint.value, taint.effect)
    # The plugin ExtendedResourceToleration, where it is on, adds a toleration of a device's own taint.
    extended = taint.effect == "NoSchedule" and taint.key in wanted.resources
    return wanted.placement.tolerates(taint) or plain in wanted.tolerated or extended


def _selected(requirement: Requirement) -> NodeObstacle:
    absent = requirement.operator == "DoesNotExist"
    domain = requirement.key.partition("/")[0]
    cpu = domain.endswith(".node.kubevirt.io") or domain == "node-labeller.kubevirt.io"
    kind = "CPU" if cpu and domain.startswith(_CPU) else "Selector"
    return NodeObstacle(kind, f"with{'' if absent else 'out'} label {str(requirement).lstrip('!')}")


def _neighbours(cluster: Cluster, pod: Pod | None, nodes: list[Node]) -> dict[str, str]:
    if pod is None or not pod.neighbours.terms:
        return {}
    kept = Neighbourhood(cluster, frozenset()).obstacles(pod, nodes)
    return {node.name: why for node, why in zip(nodes, kept, strict=True)}


def _neighbour(why: str) -> NodeObstacle:
    return NodeObstacle("AntiAffinity" if why.startswith("with pods") else "PodAffinity", why)


def _lacking(
    node: Node, free: Mapping[str, float], wanted: PodWanted, offered: set[str], *, pods: bool
) -> Iterator[NodeObstacle]:
    """A node that says nothing of what it offers is not known to lack anything. Where no pods can be seen, only what it
    does not offer at all rules it out.
    """
    if not node.allocatable:
        return
    whole = dict(node.allocatable)
    needed = {**dict.fromkeys(wanted.resources, 1.0), **wanted.amounts}
    for name, amount in sorted(needed.items(), key=lambda each: (each[0] not in ("memory", "cpu"), each[0])):
        left = free.get(name, 0.0)
        if amount <= 0 or amount <= left * (1 + 1e-9) + 1e-9:
            continue
        kind = kind_of_lack(name)
        if kind == "Device" and whole.get(name, 0.0) <= 0:
            yield NodeObstacle("Device" if name in offered else "NoDevice", f"{_NO_OFFER}{name}")
        else:
            has = f"{amount_written(name, left)} {'free' if pods else 'in all'}"
            yield NodeObstacle(kind, f"{_LACKS}{name} (needs {amount_written(name, amount)}, has {has})")


# What the launcher pod of a VM asks of its node: of the next migration, and of the next start.
#
# A pod that is seen says it itself. Without one it is what the spec comes to, as the check `feature_nodes` has it.

_KVM = "devices.kubevirt.io/kvm"
_UNKNOWN_PLACEMENT = "its node selector, affinity or tolerations are none that Kubernetes takes"
_OF_SPEC = "CPUs, and the memory that virt-launcher and QEMU take beside the guest's"
_NEIGHBOURS = "its affinity to other pods, which is not kept of a VM that does not run"


def launcher_of(context: OneVM) -> Pod | None:
    """The launcher pod that its guest runs in, where it is seen."""
    vmi = context.vmi
    if vmi is None:
        return None
    parts = context.view.sharing(PART, vm_key(vmi.namespace, vmi.name))
    return current_pod(vmi, (each for each in parts if isinstance(each, Pod)))


def for_migration(context: OneVM, vmi: VirtualMachineInstance) -> PodWanted | str:
    """Of a VMI that runs; text says why nobody knows."""
    home, pod, known = context.view.named(Node, "", vmi.node), launcher_of(context), context.known
    if home is None:
        return f"node {vmi.node}, which it runs on, does not exist"
    if pod is None:
        return _without_pod(context, vmi, home)
    placement = placement_on_moving(vmi, pod, home)
    if isinstance(known, str):
        unsure: tuple[str, ...] = (f"the vendor of the CPU: {known}",)
    else:
        moving, unsure = Moving(vendor=keeps_vendor(known.version)), ()
        placement = NodeSets([home]).moved(NodeDemand(placement), moving, home.name).placement
    needed = dict(pod.requests) | {"pods": 1.0}
    return PodWanted(placement, needed, pvcs=_pvcs(vmi), pod=pod, but_for=vmi.uid, not_considered=unsure)


def _without_pod(context: OneVM, vmi: VirtualMachineInstance, home: Node) -> PodWanted | str:
    """Its pod may tolerate more than its spec says: the taints of its own node count as tolerated."""
    known = context.known
    if isinstance(known, str):
        return known
    things = things_of(context.view, needs(vmi.asks, vmi.emulated), known)
    demand = pod_of(vmi.demand, things, known, of_vm=False)
    if demand is None:
        return _UNKNOWN_PLACEMENT
    again = vmi.migration is not None or bool(vmi.demand.features)
    moving = Moving(vmi.demand.model == "host-model" and not again, keeps_vendor(known.version))
    demand = NodeSets([home]).moved(demand, moving, home.name)
    taints = tuple(Taint(each.key, each.value, each.effect) for each in home.taints if each.key != CORDON)
    unsure = "what room it needs, and its affinity to other pods: its launcher pod is not seen"
    return PodWanted(demand.placement, {}, demand.resources, taints, _pvcs(vmi), None, vmi.uid, (unsure,))


def _pvcs(one: VirtualMachine | VirtualMachineInstance) -> tuple[tuple[str, str], ...]:
    return tuple((one.namespace, each) for each in one.pvcs)


def for_start(context: OneVM) -> PodWanted | str:
    """Of its next start; text says why nobody knows what that asks for."""
    known = context.known
    if isinstance(known, str) or isinstance(context.kubevirt, str):
        return str(known)  # its node selectors may rule out any node
    one = context.vm or context.vmi
    if isinstance(one, VirtualMachine):
        made = _of_vm(context, one, known, context.kubevirt)
    elif one is not None:
        things = things_of(context.view, needs(one.asks, one.emulated), known)
        made = pod_of(one.demand, things, known, of_vm=context.proposed), {}
    else:
        return _UNKNOWN_PLACEMENT
    demand, amounts = made
    if demand is None:
        return _UNKNOWN_PLACEMENT
    needed = amounts | {"pods": 1.0} | _kvm(context, known)
    pod = context.pod if context.proposed else launcher_of(context)
    said: tuple[str, ...] = () if pod is not None else (_NEIGHBOURS,)
    said += () if amounts else ("memory, which its spec does not say here",)
    uid = context.vmi.uid if context.vmi is not None else ""
    pvcs = _pvcs(one) if one is not None else ()
    return PodWanted(demand.placement, needed, demand.resources, (), pvcs, pod, uid, (_OF_SPEC, *said))


def _kvm(context: OneVM, known: Effective) -> dict[str, float]:
    """What every launcher pod asks for; where no node has heard of it, that is a finding of its own."""
    heard = any(name == _KVM for each in context.view.all(Node) for name, _ in each.allocatable)
    return {_KVM: 1.0} if heard and not known.emulation and known.hypervisors == ("kvm",) else {}


def _of_vm(
    context: OneVM, vm: VirtualMachine, known: Effective, kubevirt: KubeVirt
) -> tuple[NodeDemand | None, dict[str, float]]:
    things = things_of(context.view, needs(context.asked_by_vm), known)
    demand = pod_of(demanded_by(vm, context.view.named, kubevirt), things, known, of_vm=True)
    gives = contributions(vm, context.view.named, kubevirt).instancetype
    return demand, dict(memory_asked(vm.memory, gives, known.memory_overcommit))
