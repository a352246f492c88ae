"""What the launcher pod of a VM asks of its node: of the next migration, and of the next start.

A pod that is seen says it itself. Without one it is what the spec comes to, as the check `feature_nodes` has it.
"""

from __future__ import annotations

from ...checks.features.feature_nodes.asking import things_of
from ...checks.features.feature_nodes.placing import keeps_vendor
from ...checks.features.feature_nodes.pods import pod_of
from ...domain.drains.eviction import current_pod
from ...domain.features.configuration import Effective
from ...domain.features.memory_demand import memory_asked
from ...domain.features.node_sets import Moving, NodeDemand, NodeSets
from ...domain.features.placement import Taint
from ...domain.features.requests import demanded_by
from ...domain.instancetypes.contributions import contributions
from ...store.indexes.features import needs
from ...store.indexes.networks import vm_key
from ...store.indexes.nodes import PART
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import CORDON, Node
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..drain.room import placement_on_moving
from .context import OneVM
from .places import Wanted

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


def for_migration(context: OneVM, vmi: VirtualMachineInstance) -> Wanted | str:
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
    return Wanted(placement, needed, pvcs=_pvcs(vmi), pod=pod, but_for=vmi.uid, not_considered=unsure)


def _without_pod(context: OneVM, vmi: VirtualMachineInstance, home: Node) -> Wanted | str:
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
    return Wanted(demand.placement, {}, demand.resources, taints, _pvcs(vmi), None, vmi.uid, (unsure,))


def _pvcs(one: VirtualMachine | VirtualMachineInstance) -> tuple[tuple[str, str], ...]:
    return tuple((one.namespace, each) for each in one.pvcs)


def for_start(context: OneVM) -> Wanted | str:
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
    return Wanted(demand.placement, needed, demand.resources, (), pvcs, pod, uid, (_OF_SPEC, *said))


def _of_vm(
    context: OneVM, vm: VirtualMachine, known: Effective, kubevirt: KubeVirt
) -> tuple[NodeDemand | None, dict[str, float]]:
    things = things_of(context.view, needs(context.asked_by_vm), known)
    demand = pod_of(demanded_by(vm, context.view.named, kubevirt), things, known, of_vm=True)
    gives = contributions(vm, context.view.named, kubevirt).instancetype
    return demand, dict(memory_asked(vm.memory, gives, known.memory_overcommit))


def _kvm(context: OneVM, known: Effective) -> dict[str, float]:
    """What every launcher pod asks for; where no node says that it has it, that is a finding of its own."""
    if known.emulation or known.hypervisors != ("kvm",):
        return {}
    nodes = context.view.all(Node)
    return (
        {_KVM: 1.0} if any(name == _KVM and amount > 0 for each in nodes for name, amount in each.allocatable) else {}
    )
