"""The values by which objects of a fleet belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...facts.addresses import host
from ...facts.record import Record
from ...facts.vm_networks import claim_name
from ..index import ByName, Index
from ..kinds.components import Deployment, MutatingWebhookConfiguration
from ..kinds.controller_revision import ControllerRevision
from ..kinds.ipam_claim import IPAMClaim
from ..kinds.namespace import Namespace
from ..kinds.network_attachment_definition import NetworkAttachmentDefinition
from ..kinds.pod import GIVEN, REFERRED, DrainRole, Pod
from ..kinds.pod_disruption_budget import PodDisruptionBudget
from ..kinds.snapshots import VirtualMachineClone, VirtualMachineSnapshotContent
from ..kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork
from ..kinds.virtual_machine import VirtualMachine
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

_VMS = (VirtualMachine, VirtualMachineInstance)


def vm_key(namespace: str, name: str) -> str:
    """The key of a VM: what belongs to one VirtualMachine or stand-alone VirtualMachineInstance."""
    return f"{namespace}/{name}"


def address(network: str, ip: str) -> str:
    """The key of an address: networks are isolated from each other, so it counts within one."""
    return f"{network} {ip}"


def _vms(record: Record, _: ByName) -> Iterable[str]:
    return [vm_key(record.namespace, name) for name in record.vms]


def _several_vms(record: Record, lookup: ByName) -> Iterable[str]:
    return _vms(record, lookup) if len(record.vms) > 1 else ()


def _attachments(record: Record, _: ByName) -> Iterable[str]:
    return {nad for nad, _, _ in record.known_addresses} if isinstance(record, Pod) else ()


def _addresses(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, IPAMClaim):
        return {address(record.network, ip) for ip in record.hosts} if record.network else ()
    if isinstance(record, VirtualMachineInstance):
        return dict.fromkeys(_requests(record, lookup)) if record.known_requested else ()
    if not isinstance(record, Pod):
        return ()
    # A loop, since one network may have tens of thousands of them, which are looked up again where its NAD changes.
    found: dict[str, None] = {}
    for nad, ip, _ in record.known_addresses:
        network = _network(nad, lookup)
        if network:
            found[address(network, ip)] = None
    return found


def _requests(vmi: VirtualMachineInstance, lookup: ByName) -> Iterable[str]:
    for network, text in vmi.known_requested:
        claim = lookup(IPAMClaim, vmi.namespace, claim_name(vmi.name, network))
        if isinstance(claim, IPAMClaim) and claim.network:
            yield address(claim.network, host(text) or text)


def _requested_claims(record: Record, _: ByName) -> Iterable[str]:
    requested = record.known_requested if isinstance(record, VirtualMachineInstance) else ()
    return {f"{record.namespace}/{claim_name(record.name, network)}" for network, _ in requested}


def _network(nad: str, lookup: ByName) -> str:
    """The network that a NAD, by its `namespace/name`, stands for."""
    namespace, _, name = nad.partition("/")
    found = lookup(NetworkAttachmentDefinition, namespace, name)
    return found.network if isinstance(found, NetworkAttachmentDefinition) else ""


def _networks(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, Pod):
        found = dict.fromkeys([_network(nad, lookup) for nad, _, _ in record.known_addresses])
        found.pop("", None)
        return found
    if isinstance(record, IPAMClaim | NetworkAttachmentDefinition | UserDefinedNetwork | ClusterUserDefinedNetwork):
        return (record.network,) if record.network else ()
    return ()


def _claims(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, IPAMClaim):
        return (f"{record.namespace}/{record.name}",)
    return record.known_claims if isinstance(record, Pod) else ()


def _nads(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, NetworkAttachmentDefinition):
        return (record.network,) if record.readable else (unreadable(record.namespace),)
    if isinstance(record, UserDefinedNetwork | ClusterUserDefinedNetwork):
        return (record.network,)
    if isinstance(record, Pod):
        # A launcher pod refers to no other claims than those of its VM, with which it is found.
        refers = record.unreadable and record.role is not DrainRole.LAUNCHER and record.lacks(REFERRED)
        return (unreadable(record.namespace),) if refers else ()
    return (record.network, unreadable(record.namespace)) if isinstance(record, IPAMClaim) else ()


def _unknown_holders(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, NetworkAttachmentDefinition):
        own = (f"{record.namespace}/{record.name}", unreadable(record.namespace))
        return (*own, primary(record.namespace)) if record.role == "primary" else own
    if not isinstance(record, Pod) or not record.unreadable or not record.lacks(GIVEN):
        return ()
    if record.lacks(REFERRED):
        return (unreadable(record.namespace),)
    return {primary(record.namespace), *(nad for nad, _ in record.known_selections)}


def _references(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, NetworkAttachmentDefinition):
        own = f"{record.namespace}/{record.name}"
        return (own, primary(record.namespace)) if record.role == "primary" else (own,)
    if isinstance(record, _VMS):
        return {nad or primary(record.namespace) for _, nad, _ in record.networks}
    return {nad for nad, _ in record.known_selections} if isinstance(record, Pod) else ()


def _nad_keys(record: Record, _: ByName) -> Iterable[str]:
    if not isinstance(record, NetworkAttachmentDefinition):
        return ()
    own = f"{record.namespace}/{record.name}"
    return (own, primary(record.namespace)) if record.role == "primary" else (own,)


def _on_pod_network(record: Record, _: ByName) -> Iterable[str]:
    interfaces = record.networks if isinstance(record, _VMS) else ()
    return (primary(record.namespace),) if any(not nad for _, nad, _ in interfaces) else ()


def _selections(record: Record, _: ByName) -> Iterable[str]:
    return (SELECTION_KEY,) if isinstance(record, ClusterUserDefinedNetwork | Namespace) else ()


def _interfaces(record: Record, _: ByName) -> Iterable[str]:
    interfaces = record.networks if isinstance(record, _VMS) else ()
    return {nad for _, nad, _ in interfaces if nad}


def _rendered(record: Record, _: ByName) -> Iterable[str]:
    return (f"{record.namespace}/{record.name}",) if isinstance(record, UserDefinedNetwork) else ()


def _rendered_anywhere(record: Record, _: ByName) -> Iterable[str]:
    return (record.name,) if isinstance(record, ClusterUserDefinedNetwork) else ()


def _claim_names(record: Record, lookup: ByName) -> Iterable[str]:
    """Of a VM those of its interfaces that have a claim: one that gets it or loses it concerns VMs of the same name."""
    if isinstance(record, IPAMClaim):
        return (f"{record.namespace}/{record.name}",)
    if isinstance(record, _VMS):
        networks = [network for network, nad, _ in record.networks if not nad or _persists(nad, lookup)]
        return {f"{record.namespace}/{claim_name(record.name, network)}" for network in networks}
    return ()


def _persists(nad: str, lookup: ByName) -> bool:
    namespace, _, name = nad.partition("/")
    found = lookup(NetworkAttachmentDefinition, namespace, name)
    return isinstance(found, NetworkAttachmentDefinition) and found.effective


def _leftovers(record: Record, lookup: ByName) -> Iterable[str]:
    if not isinstance(record, IPAMClaim) or not record.network or record.deleting is not None:
        return ()
    for kind in (VirtualMachine, VirtualMachineInstance):
        for name in record.vms:
            vm = lookup(kind, record.namespace, name)
            networks = vm.networks if isinstance(vm, VirtualMachine | VirtualMachineInstance) else ()
            if any(claim_name(name, network) == record.name for network, _, _ in networks):
                return ()
    return (record.network,)


def _same_networks(before: Record | None, after: Record | None) -> bool:
    """Whether a VM, by which thousands of claims may be found, leaves them as they are."""
    if isinstance(before, VirtualMachine | VirtualMachineInstance) and type(before) is type(after):
        return before.networks == after.networks
    one = before or after
    return isinstance(one, VirtualMachine | VirtualMachineInstance) and not one.networks


def _stack(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, MutatingWebhookConfiguration):
        return (STACK_KEY,) if record.claims else ()
    return (STACK_KEY,) if isinstance(record, Deployment) else ()


def _persistent(record: Record, _: ByName) -> Iterable[str]:
    wanted = isinstance(record, NetworkAttachmentDefinition) and record.ovn and record.persistent
    return (STACK_KEY,) if wanted else ()


def unreadable(namespace: str) -> str:
    """The key of what can't be read in a namespace: such a NAD may be of any network, such a pod on any of them."""
    return f"?{namespace}"


def primary(namespace: str) -> str:
    """The key of a namespace's primary network, to which the pod network of its VMs goes."""
    return f"{namespace}/"


def unknown_holders(
    sharing: Callable[[Index, str], Iterable[Record]], nads: Iterable[NetworkAttachmentDefinition]
) -> list[Pod]:
    """The pods that may have addresses of the NADs' network, once for each NAD that they may have them by."""
    found = []
    for nad in nads:
        keys = [f"{nad.namespace}/{nad.name}", unreadable(nad.namespace)]
        keys += [primary(nad.namespace)] if nad.role == "primary" else []
        found += [each for key in keys for each in sharing(UNKNOWN_HOLDER, key) if isinstance(each, Pod)]
    return found


STACK_KEY = "ipam"
SELECTION_KEY = "all"

VM = Index(
    "vm",
    _vms,
    of=(
        VirtualMachine,
        VirtualMachineInstance,
        VirtualMachineInstanceMigration,
        VirtualMachineSnapshotContent,
        VirtualMachineClone,
        ControllerRevision,
        PodDisruptionBudget,
        IPAMClaim,
        Pod,
    ),
    namespaced=True,
)
# Of all that belongs to a VM, which may be thousands, what belongs to another one too.
SEVERAL_VMS = Index("several vms", _several_vms, of=VM.of, namespaced=True)
ATTACHMENT = Index("attachment", _attachments, of=(Pod,))
CLAIM = Index("claim", _claims, of=(IPAMClaim, Pod))
# Of what network a NAD is, and which NADs VMs refer to; VMs and claims only listen.
NAD = Index(
    "nad",
    _nads,
    of=(NetworkAttachmentDefinition, UserDefinedNetwork, ClusterUserDefinedNetwork, IPAMClaim, Pod),
    dependents=(IPAMClaim,),
)
REFERENCE = Index(
    "reference",
    _references,
    of=(NetworkAttachmentDefinition, VirtualMachine, VirtualMachineInstance, Pod),
    dependents=(VirtualMachine, VirtualMachineInstance, Pod),
)
# Pods of which nobody can read which addresses they have, under the NADs that they may have them of, which only listen.
UNKNOWN_HOLDER = Index(
    "unknown holder", _unknown_holders, of=(NetworkAttachmentDefinition, Pod), dependents=(NetworkAttachmentDefinition,)
)
# VMs by the NADs of their interfaces.
INTERFACE = Index("interface", _interfaces, of=(VirtualMachine, VirtualMachineInstance))
# VMs with an interface on the pod network, under the primary network of their namespace, if it has one.
ON_POD_NETWORK = Index(
    "on the pod network", _on_pod_network, of=(VirtualMachine, VirtualMachineInstance), namespaced=True
)
# NADs alone by what VMs refer to them by.
NAD_KEY = Index("NAD's key", _nad_keys, of=(NetworkAttachmentDefinition,), namespaced=True)
# Networks by the NAD that OVN-Kubernetes renders for them; in which namespaces one of the cluster has one, its selector
# says.
RENDERED = Index("rendered NAD", _rendered, of=(UserDefinedNetwork,), namespaced=True)
RENDERED_ANYWHERE = Index("NAD rendered in several namespaces", _rendered_anywhere, of=(ClusterUserDefinedNetwork,))
# All networks that select namespaces, under one key; the namespaces only listen.
SELECTION = Index("selection", _selections, of=(ClusterUserDefinedNetwork, Namespace), dependents=(Namespace,))
CLAIM_NAME = Index(
    "claim name",
    _claim_names,
    of=(IPAMClaim, VirtualMachine, VirtualMachineInstance),
    through=((NetworkAttachmentDefinition, INTERFACE),),
    namespaced=True,
)
# VMIs by the claims of the interfaces that they request addresses for, whatever their NADs say.
_REQUESTED_CLAIM = Index("requested claim", _requested_claims, of=(VirtualMachineInstance,), namespaced=True)
# VMIs are under the addresses that they request of a claim's network, and only listen.
ADDRESS = Index(
    "address",
    _addresses,
    of=(IPAMClaim, Pod, VirtualMachineInstance),
    through=((NetworkAttachmentDefinition, ATTACHMENT), (IPAMClaim, _REQUESTED_CLAIM)),
    dependents=(VirtualMachineInstance,),
)
# The claims, by network, that no VM has an interface for.
LEFTOVER = Index(
    "leftover",
    _leftovers,
    of=(IPAMClaim,),
    through=((VirtualMachine, VM), (VirtualMachineInstance, VM)),
    unmoved=_same_networks,
)
NETWORK = Index(
    "network",
    _networks,
    of=(NetworkAttachmentDefinition, UserDefinedNetwork, ClusterUserDefinedNetwork, IPAMClaim, Pod),
    through=((NetworkAttachmentDefinition, ATTACHMENT),),
)
# The components behind IPAMClaims under one key, and the NADs that need them under the same.
STACK = Index("IPAM stack", _stack, of=(Deployment, MutatingWebhookConfiguration))
PERSISTENT = Index("NAD with persistent IPs", _persistent, of=(NetworkAttachmentDefinition,))
