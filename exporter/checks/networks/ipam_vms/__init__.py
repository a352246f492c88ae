"""VMs whose interfaces cannot get, or cannot keep, a persistent IP.

KubeVirt's webhook lets a pod refer to an IPAMClaim by the name it should have. Nothing checks whether that IPAMClaim
exists, which VM it belongs to, and where the network looks for it. The pod of such a VM hangs without an event.

Whether OVN-Kubernetes honours addresses that a VM requests is read from the arguments and variables of its control
plane.

Not seen here: that flag where the control plane has it from a file or a script, or runs in another cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ....facts.vm_networks import VMNetwork, claim_name
from ....findings.check import PER_VM, Check, View
from ....findings.finding import Finding
from ....findings.pages import reasons_of
from ....store.indexes.networks import ADDRESS, CLAIM, CLAIM_NAME, REFERENCE
from ....store.kinds.components import Deployment, MutatingWebhookConfiguration
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.namespace import Namespace
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._explained import shown
from .._referred import ReferredNads
from .interface import Interface, interfaces_of
from .predicates import (
    cross_namespace_nad,
    missing_claim,
    name_collision,
    name_too_long,
    static_request_conflict,
    too_long,
)

__all__ = ["CHECK"]

# VMs of which one look says that nothing is wrong with their interfaces, as with almost all: none of the predicates is
# asked then. They remain what decides: this knows of no finding, and only of some VMs that there is none.

_MOST = 50  # interfaces that are looked at without a pause


def evidently_well(view: View, vm: VirtualMachine | VirtualMachineInstance, nads: ReferredNads) -> bool:
    """Whether no predicate finds anything of the interfaces that it has: each whose network keeps addresses refers to a
    NAD in its own namespace, and has a claim that no other interface shares. False where that is not evident.
    """
    if len(vm.networks) > _MOST:
        return False
    names: set[str] = set()
    for network in vm.networks:
        nad = nads.of(vm.namespace, network[1])
        if nad is None or not nad.effective:
            continue  # it has no claim, and no predicate finds anything of it
        name = claim_name(vm.name, network[0])
        if nad.namespace != vm.namespace or name in names or not _claimed(view, vm, network, name):
            return False
        names.add(name)
    return True


def _claimed(view: View, vm: VirtualMachine | VirtualMachineInstance, network: VMNetwork, name: str) -> bool:
    """Whether the claim of a secondary network is there, and no VM of another name has one of the same name."""
    if not network[1] or too_long(vm.name, network[0]):
        return False
    found = view.sharing(CLAIM_NAME, f"{vm.namespace}/{name}")
    others = [each for each in found if not isinstance(each, IPAMClaim) and each.name != vm.name]
    return not others and any(isinstance(each, IPAMClaim) for each in found)


Predicate = Callable[[Interface], Finding | None]

_OF_VMI: tuple[Predicate, ...] = (
    missing_claim,
    name_too_long,
    name_collision,
    cross_namespace_nad,
    static_request_conflict,
)
_OF_VM = (name_too_long, name_collision, cross_namespace_nad)  # the others are of what runs
_PAUSES = 50  # interfaces between two


def find(view: View) -> Iterator[Finding | None]:
    if any(each.terminating for each in view.all(Namespace)):
        return  # what is missing goes with the namespace
    vms: list[VirtualMachine | VirtualMachineInstance] = [*view.all(VirtualMachine), *view.all(VirtualMachineInstance)]
    nads = ReferredNads(view)
    if view.whole and all(evidently_well(view, vm, nads) for vm in _unlike(vms)):
        return
    for vm in vms:
        predicates = _OF_VM if isinstance(vm, VirtualMachine) else _OF_VMI
        yield from view.apart(_evaluated(view, predicates, interfaces_of(view, vm, nads)))


def _unlike(vms: list[VirtualMachine | VirtualMachineInstance]) -> Iterable[VirtualMachine | VirtualMachineInstance]:
    """One of each that have the same networks: all of them have the same name."""
    return {vm.networks: vm for vm in vms}.values()


def _evaluated(view: View, predicates: Iterable[Predicate], interfaces: list[Interface]) -> Iterator[Finding | None]:
    """At most one finding for each reason of a VM: that of its worst interface."""
    for predicate in predicates:
        worst: Finding | None = None
        for done, each in enumerate(interfaces):
            finding = predicate(each)
            if finding is not None and (worst is None or finding.severity.rank > worst.severity.rank):
                worst = finding
            if done % _PAUSES == _PAUSES - 1:
                yield None
        if worst is not None:
            yield shown(view, worst)


CHECK = Check(
    id="ipam_vms",
    title="VMs whose interfaces can't get or keep a persistent IP",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        Pod.KIND,
        IPAMClaim.KIND,
        NetworkAttachmentDefinition.KIND,
        Namespace.KIND,
        Deployment.KIND,
        MutatingWebhookConfiguration.KIND,
    ),
    scope=PER_VM,
    looks_up=(REFERENCE, CLAIM, CLAIM_NAME, ADDRESS),
    reasons=reasons_of("ipam_vms"),
    find=find,
    fields_read=(Namespace.KIND, VirtualMachine.KIND, VirtualMachineInstance.KIND, Pod.KIND),
    requires=(IPAMClaim.KIND, NetworkAttachmentDefinition.KIND),
)
