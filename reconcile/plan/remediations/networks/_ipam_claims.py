"""What the remediations of IPAMClaims ask alike: which VMs an IPAMClaim may be of, who uses it, whether what creates
and honours IPAMClaims works. Each answers with a refusal, or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from exporter.checks.networks._explained import broken
from exporter.facts.record import Ref, UnansweredError
from exporter.facts.vm_networks import claim_name
from exporter.store.decode import ObjectDecoder
from exporter.store.kinds.components import Deployment, MutatingWebhookConfiguration, own_parts
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from exporter.store.kinds.pod import GIVEN, REFERRED, Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from exporter.store.source import Undecodable

from ...guards import guard, unanswered, undecodable
from ...plan import Refused
from ...remediation import Scene
from .._grounds import table, under_way

# Whom an object that can't be read may concern: which pods can be attached to the network of an IPAMClaim.
#
# An address is given to a pod by an attachment to the network, and that is by a NAD: one of the pod's namespace, where
# the primary one needs no mention, or one that the pod selects, wherever that is. So a pod whose addresses can't be
# read is in the way of the IPAMClaims of its own namespace, and of the networks of those NADs. Of all others it is not:
# who may write pods in one namespace must not be able to keep the IPAMClaims of all others as they are. Whoever may
# create NADs of a network in their namespace can be attached to it indeed.
#
# A selection that can't be read attaches to nothing: Multus and OVN-Kubernetes can't read it either. What was given
# before it became so is in another annotation (k8s.ovn.org/pod-networks). OVN-Kubernetes matches IPAMClaims by
# `spec.network` alone, wherever they are, and takes none of which that is no text.
#
# Not seen: whoever takes annotations off a pod, which then looks as if it used nothing.


def unread_use(scene: Scene, claim: IPAMClaim, pod: Pod) -> Refused | None:
    """Refuses with `everything_seen` for annotations that can't be read, where the pod may use the IPAMClaim."""
    for fact in pod.unread:
        given = fact.annotation in GIVEN and attachable(
            scene, claim, pod.namespace, (key for key, _ in pod.known_selections)
        )
        if given or (fact.annotation in REFERRED and pod.namespace == claim.namespace):
            why = f"{pod.ref} might use it: annotation {fact.annotation} could not be read: {fact.why}"
            return unanswered(why, pod.ref)
    return None


def attachable(scene: Scene, claim: IPAMClaim, namespace: str, selected: Iterable[str] = ()) -> bool:
    """Whether a pod in a namespace, with NADs that it selects by `namespace/name`, may be attached to the network."""
    if namespace == claim.namespace:
        return True
    names = [f"{nad.namespace}/{nad.name}" for nad in scene.within(NetworkAttachmentDefinition, namespace)]
    return any(_of_network(scene, claim, key) for key in dict.fromkeys((*names, *selected)))


def _of_network(scene: Scene, claim: IPAMClaim, key: str) -> bool:
    """Whether a NAD may be of the network: one that can't be read is where it has the network's name in it."""
    namespace, _, name = key.partition("/")
    nad = scene.named(NetworkAttachmentDefinition, namespace, name)
    if nad is None:
        return namespace == claim.namespace  # it is gone, and still serves the pods that it has attached
    if nad.readable:
        return nad.network == claim.network
    whole = scene.whole(NetworkAttachmentDefinition.KIND, namespace, name) or {}
    return claim.network in str(table(whole.get("spec")).get("config"))


def of_network(scene: Scene, claim: IPAMClaim, other: Undecodable) -> bool:
    """Whether an IPAMClaim that can't be decoded may be of the same network, by what can be read of it."""
    try:
        whole = scene.whole(IPAMClaim.KIND, other.namespace, other.object_name)
    except UnansweredError:
        return True
    network = table((whole or {}).get("spec")).get("network")
    return network == claim.network if isinstance(network, str) else other.namespace == claim.namespace


_BROKEN = {
    "ControllerNotReady": "KubeVirt's IPAM controller has no ready replica",
    "ControlPlaneNotReady": "OVN-Kubernetes' control plane has no ready replica",
    "WebhookMissing": "the webhook of KubeVirt's IPAM controller is not registered",
    "ControllerMissing": "neither KubeVirt's IPAM controller nor its webhook is installed",
}

_CLAIMS = ObjectDecoder(IPAMClaim.KIND)
V = TypeVar("V", VirtualMachine, VirtualMachineInstance)


def names_of(claim: IPAMClaim) -> tuple[str, ...]:
    """The names of the VMs that it names, by its owner references and its label."""
    return tuple(name for name in claim.vms if name)


def claim_of(whole: Mapping[str, Any]) -> IPAMClaim | None:
    """The record of a whole object, which need not exist any more; None for one that can't be decoded."""
    record = _CLAIMS.object(msgspec.json.encode(whole)).record
    return record if isinstance(record, IPAMClaim) else None


def attached_by(claim: str, vm: VirtualMachine | VirtualMachineInstance) -> list[str]:
    """The NADs, by `namespace/name` or empty for the primary one, of the interfaces whose IPAMClaim has this name."""
    return [nad for network, nad, _ in vm.networks if claim_name(vm.name, network) == claim]


def made_for(claim: IPAMClaim, vm: VirtualMachine | VirtualMachineInstance) -> list[str]:
    """The same of an IPAMClaim that is there."""
    return attached_by(claim.name, vm)


def namesakes(scene: Scene, kind: type[V], claim: IPAMClaim) -> list[V]:
    """The VMs, or VMIs, that it names, whatever their UIDs, and those with an interface whose IPAMClaim has its name.

    Two VMs may have an interface whose IPAMClaims have one name: `a.b` with network `c`, `a` with `b_c`.
    """
    names = names_of(claim)
    found = (each for each in scene.within(kind, claim.namespace) if each.name in names or made_for(claim, each))
    return sorted(found, key=lambda each: each.name)


@guard(
    {
        "vm_gone": "no VM or VMI that the IPAMClaim names, and none with an interface whose IPAMClaim has its name, "
        "exists"
    },
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
def named_live(scene: Scene, claim: IPAMClaim) -> Refused | None:
    found = [*namesakes(scene, VirtualMachine, claim), *namesakes(scene, VirtualMachineInstance, claim)]
    return Refused("vm_gone", f"{found[0].ref} exists") if found else None


def waits(claim: IPAMClaim, vm: VirtualMachine) -> bool:
    """Whether the VM itself, not another one of its name, is in deletion; without owners the label says which it is."""
    owners = {owner.uid for owner in claim.owners}
    return vm.deleting is not None and (vm.uid in owners if owners else vm.name == claim.vm)


@guard(
    {"name_and_network_fit": "an interface of this VM, and of no other VM, has the name and network of the IPAMClaim"},
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
)
def misfit(scene: Scene, claim: IPAMClaim, owner: VirtualMachine | VirtualMachineInstance) -> Refused | None:
    """Its owner has an interface whose IPAMClaim has its name, in its network, and no other VM or VMI has one."""
    keys: list[str] = []
    found: list[VirtualMachine | VirtualMachineInstance] = [*namesakes(scene, VirtualMachine, claim)]
    for each in (*found, *namesakes(scene, VirtualMachineInstance, claim)):
        attached = made_for(claim, each)
        if attached and each.name != owner.name:
            return Refused("name_and_network_fit", f"an interface of {each.ref} has an IPAMClaim of this name too")
        keys += attached
    if not keys:
        return Refused("name_and_network_fit", f"{owner.ref} has no interface whose IPAMClaim is {claim.name}")
    return next((refused for key in keys if (refused := _other_network(scene, claim, key))), None)


def _other_network(scene: Scene, claim: IPAMClaim, key: str) -> Refused | None:
    namespace, _, name = key.partition("/")
    if key:
        named = scene.named(NetworkAttachmentDefinition, namespace, name)
        nads = [named] if named is not None else []
    else:
        found = scene.within(NetworkAttachmentDefinition, claim.namespace)
        nads = [each for each in found if each.role == "primary" or not each.readable]
    if len(nads) != 1 or not nads[0].readable:
        what = f"NAD {key}" if key else f"the one primary NAD of namespace {claim.namespace}"
        return Refused("name_and_network_fit", f"the network of {what} is not known")
    if nads[0].network != claim.network:
        return Refused("name_and_network_fit", f"{nads[0].ref} is of network {nads[0].network}, not {claim.network}")
    return None


@guard(
    {"not_migrating": "no migration of a VMI that the IPAMClaim names is pending or running"},
    reads=(VirtualMachineInstanceMigration.KIND, VirtualMachineInstance.KIND),
)
def moving(scene: Scene, namespace: str, names: tuple[str, ...]) -> Refused | None:
    """Refuses with `not_migrating` for VMIs of these names. A migration that only waits counts too: its target may be
    created at any moment.
    """
    for each in scene.within(VirtualMachineInstanceMigration, namespace):
        if each.vmi in names and not each.finished:
            return Refused("not_migrating", f"{each.ref} of VMI {each.vmi} is {each.phase or 'not started yet'}")
    for name in names:
        vmi = scene.named(VirtualMachineInstance, namespace, name)
        if vmi is not None and vmi.migrating:  # even where its migration object is gone
            return Refused("not_migrating", f"the status of {vmi.ref} says that it is migrating")
    return None


@guard(moving)
def migrating(scene: Scene, claim: IPAMClaim) -> Refused | None:
    return moving(scene, claim.namespace, names_of(claim))


@guard(
    {
        "no_pod_uses_it": "no pod of the cluster that is not completed refers to the IPAMClaim, has one of its "
        "addresses in its network, or is of a VM that it names"
    },
    reads=(Pod.KIND, NetworkAttachmentDefinition.KIND),
)
def in_use(
    scene: Scene, claim: IPAMClaim, *, of_vm: bool = True, but: Ref | None = None, may: str = "no_pod_uses_it"
) -> Refused | None:
    """Refuses with `everything_seen` where no pod is known to use it, and one may that can't be read; with `may` for
    one that has an address of it in a network that nobody knows.

    A pod of a VM that it names counts by that alone; without `of_vm` only where it is attached to the network by
    nothing that refers to another IPAMClaim, or has no address of any network yet. The pod `but` does not count.
    """
    pods, undecodables = scene.readable(Pod)
    unseen: Refused | None = None
    for pod in pods:
        if pod.ref == but:
            continue
        used = _use(scene, claim, pod, of_vm=of_vm, may=may)
        if used is not None and used.precondition == "no_pod_uses_it":
            return used
        unseen = unseen or used or (unread_use(scene, claim, pod) if pod.unread else None)
    for each in undecodables:
        if unseen is None and attachable(scene, claim, each.namespace):
            unseen = undecodable(each)
    return unseen


def _use(scene: Scene, claim: IPAMClaim, pod: Pod, *, of_vm: bool, may: str) -> Refused | None:
    def uses(why: str) -> Refused:
        return Refused("no_pod_uses_it", f"{pod.ref} {why}")

    if f"{claim.namespace}/{claim.name}" in pod.known_claims:
        return uses("refers to it")
    own = pod.namespace == claim.namespace and pod.domain and pod.domain in names_of(claim)
    if own and of_vm:
        return uses(f"is a pod of VM {pod.domain}")
    places = [(key, f"has {address}") for key, address, _ in pod.known_addresses if address in claim.hosts]
    if own:
        attached = (key for key, other in pod.known_selections if other in ("", claim.name))
        places = [*((key, f"is attached to NAD {key} for VM {pod.domain}") for key in attached), *places]
    unknown = ""
    for key, what in places:
        namespace, _, name = key.partition("/")
        nad = scene.named(NetworkAttachmentDefinition, namespace, name)
        if nad is None or not nad.readable:  # it may be of any network: one that is deleted still serves its pods
            unknown = unknown or f"{what}, and the network of NAD {key} is not known"
        elif nad.network == claim.network:
            return uses(f"{what} in network {claim.network}")
    if own and not pod.known_addresses:
        return uses(f"is a pod of VM {pod.domain} that has no address yet")
    return Refused(may, f"{pod.ref} {unknown}") if unknown else None


@guard(
    {"no_other_holder": "no other IPAMClaim of its network has one of the IPAMClaim's addresses"},
    reads=(IPAMClaim.KIND,),
)
def shared(scene: Scene, claim: IPAMClaim) -> Refused | None:
    """OVN-Kubernetes releases the addresses of an IPAMClaim that is gone, even one that another IPAMClaim has too
    (ovn-kubernetes/ovn-kubernetes, go-controller/pkg/persistentips/allocator.go).
    """
    claims, undecodables = scene.readable(IPAMClaim)
    for each in claims:
        if each.network == claim.network and each.ref != claim.ref and (both := set(each.hosts) & set(claim.hosts)):
            return Refused("no_other_holder", f"{each.ref} has {min(both)} of network {claim.network} too")
    found = [each for each in undecodables if of_network(scene, claim, each)]  # all are read at once
    return undecodable(found[0]) if found else None


@guard(under_way)
def restored(scene: Scene, claim: IPAMClaim) -> Refused | None:
    """A restore may be about to create a VM that it names, or one with an interface whose IPAMClaim has its name."""
    return under_way(scene, claim.namespace, names_of(claim), lambda vm: claim.name.startswith(f"{vm}."))


@guard(
    {
        "stack_healthy": "KubeVirt's IPAM controller with its webhook, and OVN-Kubernetes' control plane, work as far "
        "as they are seen"
    },
    reads=(Deployment.KIND, MutatingWebhookConfiguration.KIND),
)
def stack_broken(scene: Scene, *_: object) -> Refused | None:
    """A component that is not seen may run elsewhere, as the control plane of a hosted cluster does."""
    down = broken(own_parts(scene.all(Deployment)), scene.all(MutatingWebhookConfiguration))
    return next((Refused("stack_healthy", f"{_BROKEN[reason]}; repair that first") for reason in down), None)


# The VM, or the VMI that stands alone, that owns an IPAMClaim or is to own it, and the reference by which it does.

ClaimOwner = VirtualMachine | VirtualMachineInstance
OF_KUBEVIRT = ("VirtualMachine", "VirtualMachineInstance")
_API_VERSION = "kubevirt.io/v1"


Named = tuple[VirtualMachine | None, VirtualMachineInstance | None]


def named_owner(scene: Scene, claim: IPAMClaim, name: str) -> Named:
    """The VM and the VMI of a name in the IPAMClaim's namespace; none of no name."""
    if not name:
        return None, None
    within = claim.namespace
    return scene.named(VirtualMachine, within, name), scene.named(VirtualMachineInstance, within, name)


def unsettled(owner: ClaimOwner, vm: VirtualMachine | None, vmi: VirtualMachineInstance | None) -> Refused | None:
    """Refuses with `owner_lives` where the owner is going, or the VM and the VMI of its name do not belong together."""
    if owner.deleting is not None:
        return Refused("owner_lives", f"{owner.ref} is being deleted")
    if vmi is not None and vmi.vm_uid and vmi.vm_uid != (vm.uid if vm is not None else ""):
        return Refused("owner_lives", f"{vmi.ref} runs for a VM with UID {vmi.vm_uid}, which no longer exists")
    if isinstance(owner, VirtualMachine) and vmi is not None and not vmi.vm_uid:
        return Refused("owner_lives", f"{vmi.ref} is not of {owner.ref}: either might use the IPAMClaim")
    return None


def reference(owner: ClaimOwner) -> dict[str, Any]:
    """As ipam-extensions writes it (pkg/vminetworkscontroller, ownerReferenceFor)."""
    return {
        "apiVersion": _API_VERSION,
        "kind": owner.ref.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
